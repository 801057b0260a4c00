"""Instances as the tests play them: real calls on a real server, and after each of them the books must balance."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol
from uuid import uuid4

from soloist.store import envelope, messages, presence, records
from soloist.store.link import Link
from soloist.store.messages import Claimed, PageCall, TurnCall
from soloist.store.presence import Heard, Joined, Term, Who
from tests.servers import Store
from tests.store.state import check_equation, now_ms, total
from tests.turns import Done, turn_call
from tests.waiting import wait_until

DETAILS = json.dumps({"reason": "it is erroneous", "type": "Reject", "handler": "somebody", "attempts": 1}).encode()


def ids(claimed: Claimed) -> list[bytes]:
    """The ids of what was claimed, in that order."""
    return [envelope.id_of(each) for each in claimed.envelopes]


def claimed_numbers(claimed: Claimed) -> list[int]:
    """The sequence numbers of what was claimed, in that order."""
    return [int(each.partition(b"-")[0]) for each in ids(claimed)]


class Instance:
    """One instance or drainer. It remembers what its next call has to name, as the runtime does."""

    def __init__(
        self, store: Store, *, kinds: Sequence[str] = ("default",), drains: bool = False, number: int = 0
    ) -> None:
        self.store = store
        self.id = f"{'drainer' if drains else 'instance'}{uuid4().hex[:12]}"
        self.who = Who(self.id, number, "" if drains else "demo", "host", 17, kinds, drains)
        self.turn = 0
        self.stamp = ""
        self.term: Term | None = None
        self.call = 0
        self.seq = 0
        self.will = 0
        self._subscription: Link | None = None

    # Calls. Each checks afterwards that nothing is lost, also if it was refused.

    def join(self) -> Joined:
        with self._step():
            joined = presence.join(self.store.link, self.store.keys, self.who, self.store.settings)
        self.stamp = joined.stamp
        return joined

    def beat(
        self, *, term: int | None = None, may_generate: bool = True, busy: bool = False, tag: str = "tag"
    ) -> Heard:
        """A beat that names the term that it plays, unless told otherwise, and the last turn that was answered."""
        named = term if term is not None else self.term.number if self.term else 0
        with self._step():
            heard = presence.beat(
                self.store.link,
                self.store.keys,
                self.who,
                self.store.settings,
                term=named,
                may_generate=may_generate,
                busy=busy,
                will=self.will,
                tag=tag,
                known=(self.turn, self.stamp),
            )
        if heard.term:
            self.term, self.call, self.seq = heard.term, heard.term.call, heard.term.seq
        return heard

    def page(
        self, counts: int | Mapping[str, int] = 1, *, cursor: str | None = None, tick: int = 0, size: int = 1
    ) -> PageCall:
        """The next page, not yet sent: so many messages (per kind), each with a body of that size."""
        assert self.term
        number, envelopes = self.seq, dict[str, list[bytes]]()
        for kind, count in ({"default": counts} if isinstance(counts, int) else counts).items():
            first, number = number + 1, number + count
            envelopes[kind] = [
                envelope.pack(f"{each}-{self.term.tag}", kind, 5, b"x" * size) for each in range(first, number + 1)
            ]
        return PageCall(self.term.number, self.call + 1, self.seq + 1, "generator", envelopes, cursor, tick)

    def send_page(self, page: PageCall) -> int:
        with self._step():
            answer = messages.publish(self.store.link, self.store.keys, self.id, self.store.settings, page)
        if page.call == self.call + 1:
            self.call += 1
            self.seq += sum(len(each) for each in page.envelopes.values())
        return answer

    def publish(self, counts: int | Mapping[str, int] = 1, *, size: int = 1) -> PageCall:
        page = self.page(counts, size=size)
        self.send_page(page)
        return page

    def turn_call(
        self,
        want: int = 0,
        *,
        completed: Sequence[bytes] = (),
        failed: Sequence[bytes] = (),
        back: Sequence[bytes] = (),
        kind: str = "default",
    ) -> TurnCall:
        """Its next `next`, not yet sent, about one kind."""
        done = Done(want, list(completed), [(each, DETAILS) for each in failed], list(back))
        return self.turn_call_of({kind: done})

    def turn_call_of(self, done: Mapping[str, Done]) -> TurnCall:
        """The same about several kinds, by the places of what it really holds now."""
        return turn_call(self.turn + 1, self.stamp, [each.encode() for each in self.claimed], done)

    def send_turn(self, call: TurnCall) -> Claimed:
        with self._step():
            claimed = messages.next_turn(self.store.link, self.store.keys, self.id, self.store.settings, call)
        if call.turn == self.turn + 1:
            self.turn, self.stamp = call.turn, claimed.stamp
        return claimed

    def next(
        self,
        want: int = 0,
        *,
        completed: Sequence[bytes] = (),
        failed: Sequence[bytes] = (),
        back: Sequence[bytes] = (),
        kind: str = "default",
    ) -> Claimed:
        return self.send_turn(self.turn_call(want, completed=completed, failed=failed, back=back, kind=kind))

    def next_of(self, done: Mapping[str, Done]) -> Claimed:
        """A `next` about several kinds."""
        return self.send_turn(self.turn_call_of(done))

    def leave(self, kinds: Sequence[str] = ("default",)) -> int | None:
        with self._step():
            return presence.leave(self.store.link, self.store.keys, self.id, self.store.settings, kinds)

    def reclaim(self, victim: "Instance", kinds: Sequence[str] = ("default",)) -> int | None:
        with self._step():
            return presence.reclaim(self.store.link, self.store.keys, victim.id, self.id, self.store.settings, kinds)

    def drain(self, limit: int = 500) -> records.Drained:
        with self._step():
            return records.drain(self.store.link, self.store.keys, self.id, limit)

    def confirm(self, confirmed: Sequence[str]) -> int:
        with self._step():
            return records.confirm(self.store.link, self.store.keys, self.id, confirmed)

    @contextmanager
    def _step(self) -> Iterator[None]:
        try:
            yield
        finally:
            check_equation(self.store)

    # The last will: a real subscription.

    def subscribe(self) -> None:
        """Listen on its own channel, as a new subscription of its will."""
        self._subscription = Link(self.store.server, timeout=5)
        self._subscription.command("SSUBSCRIBE", self.store.keys.alive + self.id)
        self.will += 1

    def unsubscribe(self) -> None:
        """Its connection breaks, as it does when the process is killed."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
            wait_until(lambda: self._listeners() == 0, what="the server has dropped the subscription")

    def _listeners(self) -> int:
        return int(self.store.link.command("PUBSUB", "SHARDNUMSUB", self.store.keys.alive + self.id)[1])

    # What is stored about it, and moving its clocks.

    @property
    def fields(self) -> dict[str, str]:
        return next(each.fields for each in check_equation(self.store).instances if each.id == self.id)

    @property
    def envelopes(self) -> list[bytes]:
        """All that it holds, byte for byte, in the order in which it claimed it."""
        held: list[bytes] = self.store.link.command("LRANGE", self.store.keys.claimed(self.id), 0, -1)
        return held

    @property
    def claimed(self) -> list[str]:
        """The ids that it holds, in the order in which it claimed them."""
        return [envelope.id_of(each).decode() for each in self.envelopes]

    @property
    def deadline(self) -> int | None:
        """When its presence ends; None if it is not present."""
        score = self.store.link.command("ZSCORE", self._presence, self.id)
        return None if score is None else int(score)

    @property
    def will_stored(self) -> tuple[int, ...]:
        """Has it a will, its beat interval, since when its channel counts 0, its claim lease."""
        return tuple(int(part) for part in self.store.link.command("HGET", self.store.keys.wills, self.id).split())

    def heard_for(self, ms: int) -> None:
        """It has been heard without a gap for so long, just now for the last time."""
        now = now_ms(self.store)
        self._set("beat", now)
        self._set("since", now - ms)

    def silent_for(self, ms: int) -> None:
        """Its last beat was so long ago; before that it had been heard for an hour."""
        now = now_ms(self.store)
        self._set("beat", now - ms)
        self._set("since", now - ms - 3_600_000)

    def subscribed_for(self, ms: int) -> None:
        """Its will's subscription has been seen, unbroken, for so long."""
        self._set("will_since", now_ms(self.store) - ms)

    def lease_ended(self) -> None:
        """The deadline of its presence has passed."""
        self.store.link.command("ZADD", self._presence, now_ms(self.store) - 1, self.id)

    def marked_for(self, ms: int) -> None:
        """Its channel has been seen to count 0 for so long."""
        has, interval, _, lease = self.will_stored
        entry = f"{has} {interval} {now_ms(self.store) - ms} {lease}"
        self.store.link.command("HSET", self.store.keys.wills, self.id, entry)

    def in_line_for(self, place: int, ms: int, *, idle_judge: bool) -> None:
        """It has a place in line and beat there so long ago."""
        entry = f"{self.id} {now_ms(self.store) - ms} {int(idle_judge)}"
        self.store.link.command("HSET", self.store.keys.line, place, entry)

    def becomes_judge(self) -> None:
        """Heard without a gap for so long that it may judge whatever is judged by lease."""
        self.heard_for(self.store.settings.claim_lease_ms + 1)

    def becomes_witness(self) -> None:
        """Subscribed, and heard without a gap for so long that it may judge by will, but not by lease."""
        self.subscribe()
        self.beat()
        self.heard_for(1000)
        self.subscribed_for(1000)

    def holds(self, envelopes: Sequence[bytes], kind: str = "default") -> None:
        """Puts messages into its hands that were never published: the books are set right."""
        for first in range(0, len(envelopes), 1000):
            self.store.link.command("RPUSH", self.store.keys.claimed(self.id), *envelopes[first : first + 1000])
        for name in ("published", f"published:{kind}"):
            self.store.link.command("HINCRBY", self.store.keys.totals, name, len(envelopes))

    def _set(self, field: str, value: int) -> None:
        self.store.link.command("HSET", self.store.keys.instance(self.id), field, value)

    @property
    def _presence(self) -> str:
        return self.store.keys.drainers if self.who.drains else self.store.keys.instances


class Joins(Protocol):
    """Has an instance or a drainer join."""

    def __call__(self, kinds: Sequence[str] = ("default",), *, drains: bool = False, number: int = 0) -> Instance: ...


def dies(victim: Instance, judge: Instance, kinds: Sequence[str] = ("default",)) -> None:
    """The victim's lease ends, and the judge reclaims what it holds."""
    victim.lease_ended()
    judge.becomes_judge()
    before = total(judge.store, "reclaimed")
    held = len(victim.claimed)
    assert judge.reclaim(victim, kinds) == held
    assert total(judge.store, "reclaimed") == before + held


# The ways in which an id comes to its end. A late copy of any of its calls must then change nothing.

Departure = Callable[[Instance, Instance], None]


def leaves(instance: Instance, other: Instance) -> None:
    instance.leave(instance.who.kinds)


def is_reclaimed(instance: Instance, other: Instance) -> None:
    dies(instance, other, instance.who.kinds)


def is_reborn(instance: Instance, other: Instance) -> None:
    """It leaves, and the same process is there again under a new id, with its old number."""
    instance.leave(instance.who.kinds)
    Instance(
        instance.store, kinds=instance.who.kinds, drains=instance.who.drains, number=instance.who.number or 1
    ).join()


DEPARTURES: tuple[Departure, ...] = (leaves, is_reclaimed, is_reborn)
