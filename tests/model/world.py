"""The stage of a history: clients, a person, their subscriptions, what travels late, and the server's state as last seen.

Everything that happens on it is told, and judged by the model.
"""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from soloist.errors import Defect
from soloist.store.snapshot import Found, purge, snapshot
from tests.model import clock
from tests.model.calls import Call, Reply
from tests.model.client import Client
from tests.model.invariants import Books, Model, Violation, rule
from tests.model.operator import Operator
from tests.model.state import Broken, restore, save
from tests.model.subscriptions import Subscriptions
from tests.model.watching import WatchingLink
from tests.servers import Store

SLOW = {"heartbeat": 15.0, "lease": 200.0, "claim_lease": 1000.0}
"""So that nothing expires by itself: clocks are moved by rewriting what is stored."""

SNAPSHOT_EVERY = 16
"""Steps between looks at what `status` shows."""


class World:
    """Everybody and everything that takes part.

    Attributes:
        late: calls of which a copy is still on its way.
        overtaken: calls of which the first copy is; the next one may arrive before it.
        events: how often what happened to calls, clients and the server.
        steps: what happened, in words.
        taken: how many steps.
    """

    def __init__(self, store: Store, chance: random.Random, *, max_attempts: int, clients: int, drainers: int) -> None:
        settings = store.settings.changed(**SLOW, max_attempts=max_attempts, max_pending=8)
        self.link = WatchingLink(store.server, store.keys.base)
        self.store = replace(store, settings=settings, link=self.link)
        self.chance = chance
        names = count(1)
        self.clients = [Client(names, chance, store.keys.base) for _ in range(clients)]
        self.clients += [Client(names, chance, store.keys.base, drains=True) for _ in range(drainers)]
        self.operator = Operator(chance)
        self.model = Model(settings)
        self.subscriptions = Subscriptions(self.store)
        self.late: list[Call] = []
        self.overtaken: set[Call] = set()
        self.events: Counter[str] = Counter()
        self._executed: set[Call] = set()
        self._found = Found()
        self.steps: list[str] = []
        self.taken = 0
        purge(self.link, self.store.keys, data=True)
        self.state = self.link.look()

    def close(self) -> None:
        self.subscriptions.close()
        self.link.begin()
        purge(self.link, self.store.keys, data=True)
        self.link.close()

    def tell(self, step: str, event: str = "") -> None:
        self.steps.append(step)
        self.taken += 1
        if event:
            self.events[event] += 1

    def use(self, chance: random.Random) -> None:
        """From now on all choices come from there."""
        self.chance = self.operator.chance = chance
        for client in self.clients:
            client.chance = chance

    # Calls.

    def send(self, client: Client, call: Call) -> None:
        """A call whose answer is heard."""
        reply = self.execute(call)
        client.hears(call, reply)
        self.model.check_answer(client, call, reply, self.state)

    def execute(self, call: Call, what: str = "") -> Reply:
        """The script runs; what it did is judged."""
        self.tell(f"{call}{' — ' + what if what else ''}", what)
        before = self.state
        self.link.begin()
        try:
            reply = call.execute(self.store)
            self.steps[-1] += f" -> {self.link.word}"
            self.state = self.link.seen()
        except (Defect, Broken) as defect:
            raise Violation(f"{call}: {defect}") from defect
        self.model.check_step(before, call, self.link.word, reply, self.state, self.subscriptions.there)
        if self.taken % SNAPSHOT_EVERY == 0:
            self._check_status()
        self._executed.add(call)
        return reply

    def was_executed(self, call: Call) -> bool:
        return call in self._executed

    def _check_status(self) -> None:
        """G3 as `status` shows it, in one atomic read of its own."""
        self.link.begin()
        seen = snapshot(self.link, self.store.keys, self._found)
        self._found = seen.found
        totals = {name: int(value) for name, value in seen.totals.items()}
        shown = (
            sum(kind.waiting for kind in seen.kinds),
            sum(instance.holds for instance in seen.instances),
            seen.errors,
            seen.draining,
            {kind.name for kind in seen.kinds if kind.paused},
        )
        state = self.state
        right = (
            state.pending,
            sum(map(len, state.claimed.values())),
            len(state.errors),
            sum(map(len, state.drained.values())),
            state.paused
            & {kind.name for kind in seen.kinds},  # paused in an emptied namespace, a kind is not known yet
        )
        rule(shown == right, f"status shows {shown}, right is {right}")
        whole = sum(shown[:2]) + totals.get("completed", 0) + totals.get("failed", 0)
        rule(totals.get("published", 0) == whole, f"status shows {totals} and {shown}")

    # Time, subscriptions, and a server that goes back.

    def time_passes(self, ms: int, heard: Iterable[str]) -> None:
        """So much time passes, in which only these are heard; less than 0: the server's clock goes back."""
        heard = sorted(heard)
        self.tell(f"{ms} ms pass; heard are {heard}", "the clock goes back" if ms < 0 else "time passes")
        moved = clock.moved(self.state, ms, set(heard), self.subscriptions.there, self.store.settings)
        clock.write(self.store, self.state, moved)
        self.model.time_passes(ms, heard, self.state.now_ms)
        self.look()
        wrong = self.state.differences(moved)
        rule(not wrong, f"the clock was not moved: {wrong}")

    def subscribe(self, client: Client) -> None:
        """Its will has a new subscription, with a new number."""
        self.unsubscribe(client)
        client.will, client.listens_as = client.will + 1, client.id
        self.tell(f"{client.id} subscribes, number {client.will}", "subscribed")
        self.subscriptions.begin(client.id)

    def unsubscribe(self, client: Client) -> None:
        """The connection of its will is gone."""
        if client.listens_as:
            self.tell(f"the subscription of {client.listens_as} is gone", "subscription lost")
            self.subscriptions.end(client.listens_as)
            client.listens_as = ""

    def kill(self, client: Client, *, closes: bool) -> None:
        """A process ends, and another is started in its place; its kernel closes its sockets, or went with it."""
        self.tell(f"{client.id} is killed", "killed" if closes else "lost its power")
        if closes:
            self.unsubscribe(client)
        client.start()

    def remember(self) -> tuple[list[bytes], Books]:
        return save(self.store), self.model.remember()

    def go_back(self, kept: list[bytes], books: Books) -> None:
        """A failover: the server knows an earlier state, the clients what they were told."""
        self.tell("the server goes back", "the server goes back")
        restore(self.store, kept)
        self.model.go_back(books)
        self.look()

    def look(self) -> None:
        self.state = self.link.look()
        self.model.check_state(self.state)

    # Who is there.

    def living(self) -> list[Client]:
        """Clients whose id is present."""
        return [client for client in self.clients if client.id in self.state.lives]
