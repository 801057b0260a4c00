"""Everything that was made, published, begun, printed and removed in a history, kept where no fault can reach it."""

import copy
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from soloist.store.envelope import unpack
from tests.simulation.trace import arguments, envelopes_in


@dataclass
class Accepted:
    """A page that the server accepted."""

    instance: str
    term: int
    call: int
    first: int
    source: str
    tick: int
    ids: list[str]
    ticks: list[int]
    """Of a schedule, those that were published."""


@dataclass
class Ledger:
    """The books.

    Attributes:
        pages: those that the server accepted, in order.
        bodies: message id to body, of all that were published, also by handlers.
        claims: how often which process was given which message.
        starts: how often a handler of which process began with which message.
        printed: ids of error records, in the order in which drainers printed them, with who did.
        removed: how often which error record was removed.
        wrong: what must never happen, as it was seen to happen.
        told: what the instances told of themselves.
        owners: incarnation to process.
    """

    pages: list[Accepted] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    claims: Counter[tuple[str, str]] = field(default_factory=Counter)
    starts: Counter[tuple[str, str]] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    printed: list[tuple[str, str]] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    reclaims: int = 0
    wrong: list[str] = field(default_factory=list)
    told: list[tuple[float, str, str, dict[str, Any]]] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    _calls: dict[tuple[str, int, int], list[bytes]] = field(default_factory=dict)

    def watch(self, name: str, words: list[bytes], answer: list[Any]) -> None:
        """A script was carried out."""
        if answer[0] not in (b"OK", b"AGAIN"):
            return
        if name == "publish":
            self._published(arguments(words))
        elif name == "next":
            self._claimed(arguments(words)[0].decode(), answer)
            self._handed_on(arguments(words))
        elif name == "confirm":
            self._confirmed(arguments(words)[1:], answer[1])
        elif name == "reclaim":
            self.reclaims += 1

    def _published(self, given: list[bytes]) -> None:
        instance, term, call, first = given[0].decode(), int(given[1]), int(given[2]), int(given[3])
        known = self._calls.get((instance, term, call))
        if known is not None:
            if known != given:
                self.wrong.append(f"{instance} has sent another page as call {call} of term {term}")
            return
        self._calls[instance, term, call] = given
        envelopes = envelopes_in(given)
        ids = [_id_of(envelope) for envelope in envelopes]
        headers = [unpack(envelope).headers for envelope in envelopes]
        ticks = [json.loads(each)["scheduled_for"] for each in headers if each]
        last = self.pages[-1] if self.pages else Accepted("", 0, 0, 1, "", 0, [], [])
        if term < last.term or (term == last.term and instance != last.instance):
            self.wrong.append(f"term {term} of {instance} published after term {last.term} of {last.instance}")
        if first != last.first + len(last.ids):
            self.wrong.append(f"{instance} published {first} … after {last.first + len(last.ids) - 1}")
        self.pages.append(Accepted(instance, term, call, first, given[6].decode(), int(given[8]), ids, ticks))
        for ident, envelope in zip(ids, envelopes, strict=True):
            if ident in self.bodies:
                self.wrong.append(f"{ident} was published twice")
            self.bodies[ident] = _body_of(envelope)

    def _claimed(self, instance: str, answer: list[Any]) -> None:
        if answer[0] == b"OK":
            for envelope in answer[2]:
                self.claims[self.owners[instance], _id_of(envelope)] += 1

    def _handed_on(self, given: list[bytes]) -> None:
        """What was published along: every envelope among the words that is one of kind `more`."""
        for word in given:
            if b" more " in word and word.split(b" ", 2)[1] == b"more":
                self.bodies[_id_of(word)] = _body_of(word)

    def _confirmed(self, ids: list[bytes], removed: int) -> None:
        for ident in map(bytes.decode, ids) if removed else ():
            if ident not in {printed for _, printed in self.printed}:
                self.wrong.append(f"the error record of {ident} was removed before it was printed")
            self.removed[ident] += removed == len(ids)

    def began(self, process: str, ident: str) -> None:
        """A handler begins with a message."""
        self.starts[process, ident] += 1
        self.begun[ident] += 1

    def times_claimed(self, ident: str) -> int:
        return sum(times for (_, claimed), times in self.claims.items() if claimed == ident)

    def remember(self) -> "Ledger":
        """As the books are now; for a server that goes back."""
        return copy.deepcopy(self)

    def go_back(self, kept: "Ledger") -> None:
        """What the server has forgotten was never accepted; what was begun and printed was."""
        self.pages, self.bodies, self.removed, self._calls = kept.pages, kept.bodies, kept.removed, kept._calls


def _id_of(envelope: bytes) -> str:
    return envelope[: envelope.index(b" ")].decode()


def _body_of(envelope: bytes) -> str:
    *_, key_length, headers_length, rest = envelope.split(b" ", 6)
    return rest[int(key_length) + int(headers_length) :].decode()
