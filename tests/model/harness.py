"""Random histories: lossy clients, late copies, leases that end, a server that goes back; all from one seed.

A history is a sequence of steps against the real scripts on a real server. Each step is judged by the model. In the
end the network heals, and everything that was published must get completed or failed.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from soloist.store.snapshot import purge
from tests.model.calls import Call, Reply
from tests.model.client import Client
from tests.model.invariants import Books, Model, rule
from tests.model.state import State, read, restore, save
from tests.servers import Store

SLOW = {"heartbeat": 15.0, "lease": 200.0, "claim_lease": 1000.0}
"""So that nothing expires by itself: clocks are moved by rewriting what is stored."""

LOSSES = (("heard", 62), ("reply lost", 15), ("call lost", 8), ("late", 15))
ROUNDS = 150
"""Rounds of calm work, in which everything must come to its end."""


class History:
    """One history. Attributes: steps, what happened so far, in words; taken, how many steps were judged."""

    def __init__(
        self, store: Store, seed: int, *, clients: int = 3, drainers: int = 1, rolls_back: bool = True
    ) -> None:
        settings = store.settings.changed(**SLOW, max_attempts=2 + seed // 2 % 2)
        self._store = replace(store, settings=settings)
        self._chance = random.Random(seed)
        names = count(1)
        self._clients = [Client(names, self._chance) for _ in range(clients)]
        self._clients += [Client(names, self._chance, drains=True) for _ in range(drainers)]
        self._model = Model(self._store)
        self._late: list[Call] = []
        self._saved: list[tuple[list[bytes], Books]] = []
        self._rolls_back = rolls_back
        self.seed = seed
        self.steps: list[str] = []
        self.taken = 0
        purge(self._store.link, self._store.keys)
        self._state = read(self._store)

    def run(self, length: int) -> None:
        """So many steps at random, then the healing.

        Raises:
            Violation: a rule is broken; its notes are the seed and all steps.
        """
        weights: dict[Callable[[], None], int] = {
            self._act: 75,
            self._late_copy: 12,
            self._lease_ends: 4,
            self._becomes_judge: 4,
            self._judges: 4,
            self._is_cut_off: 3,
            self._crash: 2,
            self._save: 3,
            self._roll_back: 1 if self._rolls_back else 0,
            self._fail_over: 2 if self._rolls_back else 0,
        }
        try:
            for _ in range(length):
                self._chance.choices([*weights], [*weights.values()])[0]()
            self._heal()
        except Exception as broken:
            told = "\n".join(f"  {step}" for step in self.steps)
            broken.add_note(f"seed {self.seed}, after {len(self.steps)} steps:\n{told}")
            raise
        finally:
            purge(self._store.link, self._store.keys)

    # Steps.

    def _anybody(self) -> Client:
        """A client; drainers seldom, since there is little to do for them."""
        return self._chance.choices(self._clients, [1 if client.drains else 4 for client in self._clients])[0]

    def _act(self) -> None:
        """A client sends a call; what becomes of the call and of its answer is up to chance."""
        client = self._anybody()
        call = client.next_call()
        fate = self._chance.choices([name for name, _ in LOSSES], [weight for _, weight in LOSSES])[0]
        if fate == "heard":
            self._send(client, call)
        elif fate == "reply lost":
            self._execute(call, "its reply is lost")
        else:
            self._tell(f"{call} — is {fate}")
        if fate != "heard":
            client.hears_nothing(call)
        if fate == "late" or self._chance.random() < 0.1:
            self._late.append(call)

    def _send(self, client: Client, call: Call) -> None:
        """A call whose answer is heard."""
        reply = self._execute(call, "")
        client.hears(call, reply)
        self._model.check_answer(client, call, reply, self._state)

    def _execute(self, call: Call, what: str) -> Reply:
        self._tell(f"{call}{' — ' + what if what else ''}")
        before, reply = self._state, call.execute(self._store)
        self.steps[-1] += f" -> {type(reply).__name__ if reply is not None else 'None'}"
        self._state = read(self._store)
        self._model.check_step(before, call, self._state)
        return reply

    def _late_copy(self) -> None:
        """An old call arrives, again or for the first time, often a recent one; nobody hears the answer."""
        if self._late:
            oldest = len(self._late) - 3 if self._chance.random() < 0.5 else 0
            self._execute(self._late.pop(self._chance.randrange(max(0, oldest), len(self._late))), "a late copy")

    def _lease_ends(self) -> None:
        """The deadline of somebody's presence, or of the term, has passed."""
        victim = self._chance.choice([*sorted(self._state.present), "the term"])
        self._expire(victim)

    def _expire(self, victim: str) -> None:
        keys, past = self._store.keys, self._state.now_ms - 10
        self._tell(f"the lease of {victim} ends")
        if victim != "the term":
            presence = keys.instances if victim in self._state.instances else keys.drainers
            self._store.link.command("ZADD", presence, past, victim)
        elif self._state.holder:
            self._store.link.command("HSET", keys.term, "deadline", past)
        self._look()

    def _becomes_judge(self) -> None:
        """One that is present has been heard without a gap for so long that it may judge."""
        judges = [client for client in self._clients if client.id in self._state.present]
        if judges:
            self._ripen(self._chance.choice(judges).id)

    def _ripen(self, ident: str) -> None:
        self._tell(f"{ident} has been heard for long")
        since = self._state.now_ms - self._store.settings.claim_lease_ms - 10
        self._store.link.command("HSET", self._store.keys.instance(ident), "beat", self._state.now_ms, "since", since)
        self._look()

    def _judges(self) -> None:
        """Somebody tries to reclaim somebody, entitled or not: the script decides."""
        if self._state.present:
            judge = self._chance.choice(self._clients)
            call = judge.reclaims(self._chance.choice(sorted(self._state.present)))
            self._execute(call, "at a venture")

    def _is_cut_off(self) -> None:
        """One that holds something is silent beyond its lease, and is reclaimed; it does not know."""
        holders = {place.partition(":")[2] for places in self._state.places.values() for place in places}
        victims = sorted(holders & set(self._state.present))
        judges = [client for client in self._clients if client.id in self._state.instances]
        if victims and judges:
            victim, judge = self._chance.choice(victims), self._chance.choice(judges)
            self._expire(victim)
            self._ripen(judge.id)
            self._execute(judge.reclaims(victim), "")

    def _crash(self) -> None:
        """A process is killed, and another is started in its place."""
        client = self._chance.choice(self._clients)
        self._tell(f"{client.id} is killed")
        client.start()

    def _save(self) -> None:
        self._tell("the server's state reaches the replica")
        self._saved = [*self._saved[-2:], (save(self._store), self._model.remember())]

    def _roll_back(self) -> None:
        """A failover: the server knows an earlier state, the clients what they were told."""
        if self._saved:
            self._go_back(*self._chance.choice(self._saved))

    def _fail_over(self) -> None:
        """What was answered last is lost; another copy of that call arrives after the failover, soon or much later."""
        client = self._anybody()
        call, kept, books = client.next_call(), save(self._store), self._model.remember()
        self._send(client, call)
        self._go_back(kept, books)
        self._late.append(call)
        for _ in range(self._chance.randrange(4)):
            self._act()
        if call in self._late and self._chance.random() < 0.7:
            self._late.remove(call)
            self._execute(call, "a late copy")

    def _go_back(self, kept: list[bytes], books: Books) -> None:
        self._tell("the server goes back")
        restore(self._store, kept)
        self._model.go_back(books)
        self._look()

    def _look(self) -> None:
        self._state = read(self._store)
        self._model.check_state(self._state)

    def _tell(self, step: str) -> None:
        self.steps.append(step)
        self.taken += 1

    # The end.

    def _heal(self) -> None:
        """Everything late arrives, the dead are reclaimed, the living work on; then nothing waits and nothing is held."""
        self._tell("the network heals")
        self._chance.shuffle(self._late)
        while self._late:
            self._late_copy()
        for _ in range(ROUNDS):
            for client in self._clients:
                self._send(client, client.next_call(calm=True))
            self._bury()
            if self._is_done(self._state):
                return
        left = {ident: places for ident, places in self._state.places.items() if places != ["errors"]}
        rule(not left, f"these never came to an end: {left}")
        rule(False, f"the term is held by {self._state.holder!r}, the living are {[each.id for each in self._clients]}")

    def _bury(self) -> None:
        """Judges reclaim whoever has nobody to beat for it."""
        living = {client.id for client in self._clients}
        judges = [client for client in self._clients if client.id in self._state.instances]
        for ident in sorted(set(self._state.present) - living) if judges else ():
            self._expire(ident)
            self._ripen(judges[0].id)
            self._execute(judges[0].reclaims(ident), "")
            rule(ident not in self._state.present, f"{ident} could not be reclaimed")

    def _is_done(self, state: State) -> bool:
        finished = all(places == ["errors"] for places in state.places.values())
        plays = [
            client for client in self._clients if client.term == state.number("term") and client.id == state.holder
        ]
        idle = not any(client.unknown or client.errands for client in self._clients)
        return finished and bool(plays) and idle and set(state.present) <= {client.id for client in self._clients}
