"""A client as the runtime is one: what it knows, what it sends next, and what an answer makes of it.

A numbered call whose outcome is unknown is repeated unchanged, or the whole id is given up; `join` is never repeated; a
term is adopted if it is higher than any played under this id, else the client is reborn.
"""

import random
from collections.abc import Iterator, Mapping
from itertools import count

from soloist.runtime.election import Consequence, consequence
from soloist.store import envelope
from soloist.store.messages import Claimed, Followup, Full, PageCall, TurnCall, Write
from soloist.store.presence import Heard, Joined, Who
from soloist.store.records import Drained
from soloist.store.replies import Superseded, TermOver
from tests.model.calls import KINDS, Beat, Call, Reply
from tests.model.muddles import muddled
from tests.turns import Done, turn_call

DETAILS = b'{"reason": "it is erroneous", "type": "Reject"}'
SOURCE = "source"
DELAYS_MS = (400, 12_000, 31_000)
ERRONEOUS = 3
"""One message in so many fails, and fails again when it is put back."""


class Client:
    """One process: a handler that may generate, or a drainer. Its ids come and go.

    Attributes:
        held: message id to kind, of what it holds by its own knowledge, in the order in which it claimed it.
        former: the same, of what it held once; rarely it is confused and completes one of these.
        unknown: calls whose outcome it does not know, by script; they are repeated unchanged.
        errands: calls that are sent once, whatever becomes of them: the leave of an id that was given up, reclaims.
        will: the number of its will's subscription, of this process.
        listens_as: the id on whose channel it listens, empty if its subscription is broken.
        chance: where its choices come from.
        stands_back: it was asked to hand over: so many beats more it will not generate.
    """

    def __init__(self, names: Iterator[int], chance: random.Random, base: str, *, drains: bool = False) -> None:
        self._names = names
        self._base = base
        self.chance = chance
        self.drains = drains
        self.errands: list[Call] = []
        self.start()

    def start(self) -> None:
        """A new process: also what it was before it was killed, and never said so."""
        self.errands.clear()
        self._number = self.will = 0
        self.listens_as = ""
        self._new_id()

    def _new_id(self) -> None:
        ident = f"{'d' if self.drains else 'i'}{next(self._names)}"
        self.who = Who(ident, self._number, "" if self.drains else "demo", "host", 17, KINDS, self.drains)
        self.joined = self.willing = False
        self.unknown: dict[str, Call] = {}
        self.turn, self.stamp, self.hold_ms = 0, "", 0
        self.held: dict[str, str] = {}
        self.former: dict[str, str] = {}
        self.term = self.highest = self.call = self.seq = self.cursor = self.stands_back = 0
        self.term_tag = ""
        self._handed_on = count(1)
        self.in_print: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.who.id

    def be_reborn(self) -> None:
        """Leave the old id once, and go on under a new one."""
        if self.joined:
            self.errands.append(self._call("leave"))
        self._new_id()

    # What it sends.

    def next_call(self, *, calm: bool = False) -> Call:
        """What it sends next. Calm: nothing is given up, everything held is completed, as much as there is is wanted."""
        if self.errands:
            return self.errands.pop(0)
        if not self.joined:
            return self._call("join")
        chance = self.chance
        if not calm and chance.random() < (0.06 if self.unknown or self.drains else 0.01):
            self.be_reborn()
            return self.next_call()
        waiting = [call for call in self.unknown.values() if calm or chance.random() < 0.7]
        if waiting:
            return chance.choice(waiting)
        if self.drains:
            return self._drains(calm=calm)
        if self.term and not self.stands_back and "publish" not in self.unknown and chance.random() < 0.5:
            return self._publishes()
        if "next" not in self.unknown and chance.random() < 0.65:
            return self.takes_turn(calm=calm)
        self.willing = calm or chance.random() < 0.85
        return self.beats()

    def beats(self, *, busy: bool | None = None) -> Call:
        """A sign of life."""
        busy = bool(self.held) and self.chance.random() < 0.5 if busy is None else busy
        willing = self.willing and not self.stands_back
        if self.stands_back and not self.term:
            self.stands_back -= 1
        known = (self.turn, self.stamp) if self.chance.random() < 0.5 else (0, "")  # what the heart knows may be older
        return self._call("beat", beat=Beat(self.term, willing, busy, self.will, f"t{next(self._names)}", known))

    def _publishes(self) -> Call:
        chance, number = self.chance, self.seq
        envelopes: dict[str, list[bytes]] = {}
        for _ in range(chance.choice((0, 1, 2, 3, 5))):
            number, kind = number + 1, chance.choice(KINDS)
            body = f"body {next(self._names)}".encode()
            envelopes.setdefault(kind, []).append(envelope.pack(f"{number}-{self.term_tag}", kind, 5, body))
        cursor = str(self.cursor + 1) if chance.random() < 0.8 else None
        tick = chance.choice((0, 1_000 * (self.call + 1)))
        page = PageCall(self.term, self.call + 1, self.seq + 1, SOURCE, envelopes, cursor, tick)
        return self._call("publish", page=page)

    def takes_turn(self, *, calm: bool = False) -> Call:
        """Its next `next`: what it has done, and what it wants."""
        chance = self.chance
        want = 3 if calm else chance.choice((0, 1, 1, 2, 3))
        if self.held and not calm and chance.random() < 0.02:
            return self._acts_blindly()
        quiet = not calm and chance.random() < 0.2  # it gives back what it has not done
        done = {kind: Done(0 if quiet or (self.hold_ms and self.held) else want) for kind in KINDS}
        for ident, kind in self.held.items():
            fate = 0.0 if calm else chance.random()
            if fate < 0.6 and int(ident.partition("-")[0]) % ERRONEOUS == 0:
                done[kind].failed.append((ident.encode(), DETAILS))
            elif fate < 0.6 and chance.random() < 0.6:
                self._commits(done[kind], ident, calm=calm)
            elif fate < 0.6:
                done[kind].completed.append(ident.encode())
            elif fate < 0.75 and not quiet:
                self._tell(done[kind], ident, "retried")
            elif fate < (1.0 if quiet else 0.8):
                done[kind].back.append(ident.encode())
        if self.former and not calm and chance.random() < 0.06:
            self._is_confused(done)
        return self._turn(done, muddled_too=not calm and chance.random() < 0.02)

    def wants_more(self) -> Call:
        """Its next `next`, with nothing done."""
        return self._turn({kind: Done(2) for kind in KINDS})

    def works_here_and_there(self) -> Call:
        """Its next `next`, about some of what it holds, wherever it stands; sometimes it has lost count."""
        done = {kind: Done(self.chance.choice((0, 2))) for kind in KINDS}
        for ident, kind in self.held.items():
            fate = self.chance.choice(("completed", "committed", "failed", "failed", "back", "retried", "", ""))
            self._tell(done[kind], ident, fate)
        if self.former and self.chance.random() < 0.05:
            self._is_confused(done)
        return self._turn(done, muddled_too=self.chance.random() < 0.4)

    def fails(self, ident: str) -> Call:
        """Its next `next`, with one message failed."""
        done = {kind: Done() for kind in KINDS}
        done[self.held[ident]].failed.append((ident.encode(), DETAILS))
        return self._turn(done)

    def gives_back(self) -> Call:
        """Its next `next`, with nothing done, nothing wanted, and everything given back."""
        done = {kind: Done() for kind in KINDS}
        for ident, kind in self.held.items():
            done[kind].back.append(ident.encode())
        return self._turn(done)

    def _turn(self, done: Mapping[str, Done], *, muddled_too: bool = False) -> Call:
        held = [ident.encode() for ident in self.held]
        turn = turn_call(self.turn + 1, self.stamp, held, done)
        if muddled_too:
            turn = muddled(turn, held, self.chance)
        return self._call("next", turn=turn, done=done)

    def _is_confused(self, done: dict[str, Done]) -> None:
        """It names what it holds no more: whatever it says of it, the whole call must be refused."""
        ident = self.chance.choice([*self.former])
        fates = ("completed", "failed", "back", "retried", "committed")
        self._tell(done[self.former[ident]], ident, self.chance.choice(fates))

    def _commits(self, of: Done, ident: str, *, calm: bool) -> None:
        """Its number is added to a sum; other messages are handed on; rarely the server would refuse a part of it."""
        chance, key = self.chance, f"{self._base}data:sum"
        writes = [Write("incrby", key, (int(ident.partition("-")[0]),))]
        if chance.random() < 0.3:
            other = f"{self._base}data:other"
            writes += [Write("set", other, (chance.randrange(9),)), Write("incrby", other, (1,))]
        if not calm and chance.random() < 0.25:
            writes.insert(chance.randrange(len(writes) + 1), Write("expire", key, (0,)))
        on = []
        for _ in range(0 if calm else chance.choice((0, 1, 1, 2))):
            kind, handed_on = chance.choice(KINDS), f"{next(self._handed_on)}-f{self.id}"
            on.append(
                Followup(kind, envelope.pack(handed_on, kind, 5, b"handed on"), chance.choice((0, 0, *DELAYS_MS)))
            )
        of.committed.append((ident.encode(), writes, on))

    def _tell(self, of: Done, ident: str, fate: str) -> None:
        if fate == "completed":
            of.completed.append(ident.encode())
        elif fate == "failed":
            of.failed.append((ident.encode(), DETAILS))
        elif fate == "back":
            of.back.append(ident.encode())
        elif fate == "retried":
            of.retried.append((ident.encode(), self.chance.choice((0, *DELAYS_MS))))
        elif fate == "committed":
            self._commits(of, ident, calm=False)

    def _acts_blindly(self) -> Call:
        """It gives a message back, or the like, and passes the lists of another kind only."""
        ident, kind = self.chance.choice([*self.held.items()])
        other, done = KINDS[1 - KINDS.index(kind)], Done()
        fate = self.chance.choice(("back", "retried", "committed"))
        self._tell(done, ident, fate)
        done.committed = [(each, writes, ()) for each, writes, _ in done.committed]  # whose kinds would be passed
        return self._turn({other: done})

    def _drains(self, *, calm: bool) -> Call:
        if self.chance.random() < 0.3:
            self.willing = self.chance.random() < 0.3  # which changes nothing: a drainer is never elected
            return self.beats()
        if self.in_print:
            printed = self.in_print if calm or self.chance.random() < 0.8 else self.in_print[:1]
            return self._call("confirm", confirmed=printed)
        return Call("drain", self.who, self.id, limit=3 if calm else self.chance.choice((0, 1, 3, 3, 3)))

    def reclaims(self, victim: str) -> Call:
        return Call("reclaim", self.who, victim)

    def _call(
        self,
        what: str,
        beat: Beat | None = None,
        page: PageCall | None = None,
        turn: TurnCall | None = None,
        done: Mapping[str, Done] | None = None,
        confirmed: tuple[str, ...] = (),
    ) -> Call:
        return Call(what, self.who, self.who.id, beat, page, turn, done or {}, confirmed)

    # What it hears.

    def hears_nothing(self, call: Call) -> None:
        """The outcome is unknown."""
        if call.who.id != self.id:
            return
        if call.what == "join":
            self._new_id()
        elif call.what in {"next", "publish", "confirm"}:
            self.unknown[call.what] = call

    def hears(self, call: Call, reply: Reply) -> None:
        """The outcome is known."""
        if call.who.id != self.id:
            return
        self.unknown.pop(call.what, None)
        if isinstance(reply, TermOver):
            self._lose_term()
        elif isinstance(reply, Superseded):
            self.be_reborn()
        elif isinstance(reply, Joined):
            self.joined, self.stamp, self._number = True, reply.stamp, reply.number
        elif isinstance(reply, Heard):
            self._heard(reply)
        elif isinstance(reply, Claimed):
            self._claimed(call, reply)
        elif isinstance(reply, Drained):
            self.in_print = tuple(record.id for record in reply.records)
        elif isinstance(reply, Full):
            self.unknown["publish"] = call  # the same again, later
        elif call.page is not None:
            self.call = call.page.call
            self.cursor += call.page.cursor is not None
            self.seq += len(call.published)
        elif call.what == "join":
            self._new_id()  # the namespace is empty: there is nothing to drain yet
        elif call.what == "confirm":
            self.in_print = tuple(ident for ident in self.in_print if ident not in call.confirmed)

    def _heard(self, heard: Heard) -> None:
        self.errands += [self.reclaims(victim) for victim in heard.gone]
        if self.drains:
            return
        follows = consequence(heard, self.term, self.highest)
        if follows is Consequence.ADOPT:
            assert heard.term is not None
            self._lose_term()
            told = heard.term
            self.term = self.highest = told.number
            self.call, self.seq, self.term_tag = told.call, told.seq, told.tag
            self.cursor = int(told.cursors.get(SOURCE, 0))
        elif follows is Consequence.BE_REBORN:
            self.be_reborn()
        elif follows is Consequence.STEP_DOWN:
            self.stands_back = 3  # it publishes no more, and resigns with its next beat
            self.unknown.pop("publish", None)
        elif follows in {Consequence.LOSE_TERM, Consequence.RESIGNED}:
            self._lose_term()

    def _lose_term(self) -> None:
        self.term = 0
        self.unknown.pop("publish", None)

    def _claimed(self, call: Call, claimed: Claimed) -> None:
        assert call.turn is not None
        self.turn, self.stamp, self.hold_ms = call.turn.turn, claimed.stamp, claimed.hold_ms
        for ident in sorted({*call.completed, *call.failed, *call.back, *call.retried, *call.committed}):
            if kind := self.held.pop(ident, None):
                self.former[ident] = kind
        for each in claimed.envelopes:
            claimed_id, of_kind, _ = each.split(b" ", 2)
            self.held[claimed_id.decode()] = of_kind.decode()
            self.former.pop(claimed_id.decode(), None)
