"""Random histories: lossy clients, late copies, leases and wills, a server that goes back; all from one seed.

A history is a sequence of steps against the real scripts on a real server. Each step is judged by the model. In the
end the network heals, and everything that was published must get completed or failed.
"""

import random
from collections import Counter
from collections.abc import Callable

from tests.model import faults
from tests.model.client import DELAYS_MS
from tests.model.invariants import Books, rule
from tests.model.world import World
from tests.servers import Store

ROUNDS = 150
"""Rounds of calm work, in which everything must come to its end."""

CALM = 1_010_000
"""Milliseconds after which everybody who is not heard has lost its lease."""


class History:
    """One history.

    Args:
        seed: all that happens follows from it, unless `chance` says otherwise.
        chance: where the choices up to the healing come from.

    Attributes:
        taken: how many steps were taken.
        words: how often each script answered each word.
        events: how often what happened to calls, clients and the server.
        transitions: how often each of them was made.
    """

    def __init__(
        self,
        store: Store,
        seed: int,
        *,
        clients: int = 3,
        drainers: int = 1,
        rolls_back: bool = True,
        chance: random.Random | None = None,
    ) -> None:
        self._chance = chance or random.Random(seed)
        many = drainers + (seed % 5 == 0)
        self._world = World(store, self._chance, max_attempts=2 + seed // 2 % 2, clients=clients, drainers=many)
        self._saved: list[tuple[list[bytes], Books]] = []
        self._rolls_back = rolls_back
        self.seed = seed

    @property
    def taken(self) -> int:
        return self._world.taken

    @property
    def words(self) -> Counter[tuple[str, str]]:
        return self._world.link.words

    @property
    def events(self) -> Counter[str]:
        return self._world.events

    @property
    def transitions(self) -> Counter[str]:
        return self._world.model.transitions

    @property
    def steps(self) -> list[str]:
        return self._world.steps

    def run(self, length: int) -> None:
        """So many choices of what happens, then the healing.

        Raises:
            Violation: a rule is broken; its notes are the seed and all steps.
        """
        happens = {**self._failovers(), **faults.FAULTS}
        try:
            for _ in range(length):
                self._chance.choices([*happens], [*happens.values()])[0](self._world)
            self._heal()
        except Exception as broken:
            told = "\n".join(f"  {step}" for step in self.steps)
            broken.add_note(f"seed {self.seed}, after {len(self.steps)} steps:\n{told}")
            raise
        finally:
            self._world.close()

    # A server that goes back.

    def _failovers(self) -> dict[Callable[[World], None], int]:
        return {self._save: 8, self._roll_back: 3, self._fail_over: 6} if self._rolls_back else {}

    def _save(self, world: World) -> None:
        world.tell("the server's state reaches the replica")
        self._saved = [*self._saved[-2:], world.remember()]

    def _roll_back(self, world: World) -> None:
        """The server knows an earlier state; often all connections are lost with it."""
        if self._saved:
            world.go_back(*self._chance.choice(self._saved))
            if self._chance.random() < 0.5:
                for client in world.clients:
                    world.unsubscribe(client)

    def _fail_over(self, world: World) -> None:
        """What was answered last is lost; another copy of that call arrives after the failover, soon or much later."""
        client = faults.anybody(world)
        call, kept = client.next_call(), world.remember()
        world.send(client, call)
        world.go_back(*kept)
        world.late.append(call)
        for _ in range(self._chance.randrange(4)):
            faults.a_client_calls(world)
        if call in world.late and self._chance.random() < 0.7:
            world.late.remove(call)
            world.execute(call, "a copy after a failover")

    # The end.

    def _heal(self) -> None:
        """Everything late arrives, the dead are reclaimed, the living work on; then nothing waits and nothing is held."""
        world = self._world
        world.tell("the network heals")
        world.use(random.Random(self.seed))  # its own, so that Hypothesis has only faults to shrink
        world.chance.shuffle(world.late)
        while world.late:
            faults.a_late_copy_arrives(world)
        world.execute(world.operator.resumes())
        for _ in range(ROUNDS):
            for client in world.clients:
                if not client.term:  # one that was asked must resign first: it may not publish in that term again
                    client.stands_back = 0
                world.send(client, client.next_call(calm=True))
            self._bury()
            if world.state.delayed:
                world.time_passes(max(DELAYS_MS), {client.id for client in world.living()})
            if self._is_done():
                return
        left = {ident: places for ident, places in world.state.places().items() if places != ["errors"]}
        rule(not left, f"these never came to an end: {left}")
        rule(False, f"the term is held by {world.state.holder!r}, the living are {[each.id for each in world.clients]}")

    def _bury(self) -> None:
        """Judges reclaim whoever has nobody to beat for it."""
        world = self._world
        judges = [client for client in world.living() if not client.drains]
        for ident in sorted(world.state.lives.keys() - {client.id for client in world.clients}) if judges else ():
            world.time_passes(CALM, {client.id for client in world.living()})
            over = world.state.lives[ident].deadline < world.state.now_ms  # else the clock went back: in the next round
            world.execute(judges[0].reclaims(ident))
            rule(ident not in world.state.lives or not over, f"{ident} could not be reclaimed")

    def _is_done(self) -> bool:
        world, state = self._world, self._world.state
        finished = all(places == ["errors"] for places in state.places().values())
        plays = [
            client for client in world.clients if client.term == state.number("term") and client.id == state.holder
        ]
        idle = not any(client.unknown or client.errands for client in world.clients)
        return finished and bool(plays) and idle and state.lives.keys() <= {client.id for client in world.clients}
