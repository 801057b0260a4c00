"""A client as the runtime is one: what it knows, what it sends next, and what an answer makes of it.

A numbered call whose outcome is unknown is repeated unchanged, or the whole id is given up; `join` is never repeated; a
term is adopted if it is higher than any played under this id, else the client is reborn.
"""

import random
from collections.abc import Iterator

from soloist.runtime.election import Consequence, consequence
from soloist.store import envelope
from soloist.store.messages import Claimed, Done, PageCall, TurnCall
from soloist.store.presence import Heard, Joined, Who
from soloist.store.records import Drained
from soloist.store.replies import Superseded, TermOver
from tests.model.calls import KINDS, Beat, Call, Reply

DETAILS = b'{"reason": "it is erroneous", "type": "Reject"}'
SOURCE = "source"


class Client:
    """One process: a handler that may generate, or a drainer. Its ids come and go.

    Attributes:
        held: message id to kind, of what it holds by its own knowledge.
        former: the same, of what it held once; rarely it is confused and completes one of these.
        unknown: calls whose outcome it does not know, by script; they are repeated unchanged.
        errands: calls that are sent once, whatever becomes of them: the leave of an id that was given up, reclaims.
    """

    def __init__(self, names: Iterator[int], chance: random.Random, *, drains: bool = False) -> None:
        self._names = names
        self._chance = chance
        self.drains = drains
        self.errands: list[Call] = []
        self.start()

    def start(self) -> None:
        """A new process: also what it was before it was killed, and never said so."""
        self.errands.clear()
        self._number = 0
        self._new_id()

    def _new_id(self) -> None:
        ident = f"{'d' if self.drains else 'i'}{next(self._names)}"
        self.who = Who(ident, self._number, "" if self.drains else "demo", "host", 17, KINDS, self.drains)
        self.joined = self.willing = False
        self.unknown: dict[str, Call] = {}
        self.turn, self.stamp, self.hold = 0, "", False
        self.held: dict[str, str] = {}
        self.former: dict[str, str] = {}
        self.term = self.highest = self.call = self.seq = self.cursor = 0
        self.term_tag = ""
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
        chance = self._chance
        if not calm and chance.random() < (0.06 if self.unknown else 0.01):
            self.be_reborn()
            return self.next_call()
        waiting = [call for call in self.unknown.values() if calm or chance.random() < 0.7]
        if waiting:
            return chance.choice(waiting)
        if self.drains:
            return self._drains(calm=calm)
        if self.term and "publish" not in self.unknown and chance.random() < 0.5:
            return self._publishes()
        if "next" not in self.unknown and chance.random() < 0.65:
            return self._next(calm=calm)
        self.willing = calm or chance.random() < 0.85
        return self._beats()

    def _beats(self) -> Call:
        busy = bool(self.held) and self._chance.random() < 0.5
        return self._call("beat", beat=Beat(self.term, self.willing, busy, f"t{next(self._names)}"))

    def _publishes(self) -> Call:
        chance, number = self._chance, self.seq
        envelopes: dict[str, list[bytes]] = {}
        for _ in range(chance.choice((0, 1, 2, 3, 3))):
            number, kind = number + 1, chance.choice(KINDS)
            body = f"body {next(self._names)}".encode()
            envelopes.setdefault(kind, []).append(envelope.pack(f"{number}-{self.term_tag}", kind, 5, body))
        page = PageCall(self.term, self.call + 1, self.seq + 1, SOURCE, envelopes, str(self.cursor + 1))
        return self._call("publish", page=page)

    def _next(self, *, calm: bool) -> Call:
        want = 3 if calm else self._chance.choice((0, 1, 1, 2, 3))
        done = {kind: Done(0 if self.hold and self.held else want) for kind in KINDS}
        for ident, kind in self.held.items():
            fate = 0.0 if calm else self._chance.random()
            if fate < 0.4:
                done[kind].completed.append(ident.encode())
            elif fate < 0.55:
                done[kind].failed.append((ident.encode(), DETAILS))
            elif fate < 0.65:
                done[kind].back.append(ident.encode())
        if self.former and not calm and self._chance.random() < 0.04:
            ident = self._chance.choice([*self.former])
            done[self.former[ident]].completed.append(ident.encode())
        return self._call("next", turn=TurnCall(self.turn + 1, self.stamp, done))

    def _drains(self, *, calm: bool) -> Call:
        if self._chance.random() < 0.3:
            return self._beats()
        if self.in_print:
            printed = self.in_print if calm or self._chance.random() < 0.8 else self.in_print[:1]
            return self._call("confirm", confirmed=printed)
        return self._call("drain")

    def reclaims(self, victim: str) -> Call:
        return Call("reclaim", self.who, victim)

    def _call(
        self,
        what: str,
        beat: Beat | None = None,
        page: PageCall | None = None,
        turn: TurnCall | None = None,
        confirmed: tuple[str, ...] = (),
    ) -> Call:
        return Call(what, self.who, self.who.id, beat, page, turn, confirmed)

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
        elif call.page is not None:
            self.call, self.cursor = call.page.call, self.cursor + 1
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
        elif follows in {Consequence.LOSE_TERM, Consequence.RESIGNED}:
            self._lose_term()

    def _lose_term(self) -> None:
        self.term = 0
        self.unknown.pop("publish", None)

    def _claimed(self, call: Call, claimed: Claimed) -> None:
        assert call.turn is not None
        self.turn, self.stamp, self.hold = call.turn.turn, claimed.stamp, claimed.hold
        for ident in sorted(call.completed | call.failed | call.back):
            if kind := self.held.pop(ident, None):
                self.former[ident] = kind
        for each in claimed.envelopes:
            claimed_id, of_kind, _ = each.split(b" ", 2)
            self.held[claimed_id.decode()] = of_kind.decode()
            self.former.pop(claimed_id.decode(), None)
