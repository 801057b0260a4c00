"""A call as it travels: made once by a client, executed by the server never, once or several times, early or late."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from soloist.errors import Defect, NamespaceError
from soloist.store import control, messages, presence, records
from soloist.store.control import Asked
from soloist.store.messages import Claimed, Followup, Full, PageCall, TurnCall, Write
from soloist.store.presence import Heard, Joined, Who
from soloist.store.records import Drained, Failure
from soloist.store.replies import Superseded
from tests.servers import Store
from tests.turns import Done

KINDS = ("a", "b")
"""The kinds of message of every history."""

OPERATOR = "operator"
"""The id of the person at the command line, who is never present."""

Reply: TypeAlias = Joined | Heard | Claimed | Drained | Asked | Superseded | Full | int | None
"""What the wrappers answer. None: nothing was changed, and the caller need not be reborn for it."""


@dataclass(frozen=True)
class Beat:
    """What a beat says of its sender."""

    term: int
    may_generate: bool
    busy: bool
    will: int
    tag: str
    known: tuple[int, str]


@dataclass(frozen=True, eq=False)
class Call:
    """One call, with everything that it carries. Two are never the same call, whatever they say.

    Attributes:
        what: the script.
        subject: whom it is about; the caller, or the victim of a reclaim.
        done: what a `next` means, by ids; `turn` is what it says, by places.
        limit: how many records a drainer takes at most.
        failures: which error records are meant.
        kinds: which kinds a pause is about.
        on: whether they are paused or resumed.
        term: which term is to end.
    """

    what: str
    who: Who
    subject: str
    beat: Beat | None = None
    page: PageCall | None = None
    turn: TurnCall | None = None
    done: Mapping[str, Done] = field(default_factory=dict)
    confirmed: tuple[str, ...] = ()
    limit: int = 0
    failures: tuple[Failure, ...] = ()
    kinds: tuple[str, ...] = ()
    on: bool = False
    term: int = 0

    def execute(self, store: Store) -> Reply:
        """The real script on the real server. A refusal is an answer."""
        try:
            return self._execute(store)
        except (Superseded, Full) as refused:
            return refused
        except NamespaceError:
            return None  # a stranger's join, or there is nothing to drain yet
        except Defect as refused:
            if "was taken" in str(refused) or "answered KINDS" in str(refused):
                return None  # a late copy of a join; a confused next
            raise

    def _execute(self, store: Store) -> Reply:
        return self._of_operator(store) if self.who.id == OPERATOR else self._of_client(store)

    def _of_client(self, store: Store) -> Reply:
        link, keys, settings, me = store.link, store.keys, store.settings, self.who.id
        match self.what:
            case "join":
                return presence.join(link, keys, self.who, settings)
            case "beat":
                return self._beats(store)
            case "publish":
                assert self.page is not None
                return messages.publish(link, keys, me, settings, self.page)
            case "next":
                assert self.turn is not None
                return messages.next_turn(link, keys, me, settings, self.turn)
            case "leave":
                return presence.leave(link, keys, me, settings, KINDS[:1])
            case "reclaim":
                return presence.reclaim(link, keys, self.subject, me, settings, KINDS[:1])
            case "drain":
                return records.drain(link, keys, me, self.limit)
            case "confirm":
                return records.confirm(link, keys, me, self.confirmed)
        raise AssertionError(self.what)

    def _of_operator(self, store: Store) -> Reply:
        link, keys = store.link, store.keys
        match self.what:
            case "requeue":
                return records.requeue(link, keys, self.failures)
            case "discard":
                return records.discard(link, keys, self.failures)
            case "pause":
                return control.pause(link, keys, self.kinds, on=self.on)
            case "handover":
                return control.handover(link, keys, self.term)
        raise AssertionError(self.what)

    def _beats(self, store: Store) -> Heard:
        assert self.beat is not None
        return presence.beat(
            store.link,
            store.keys,
            self.who,
            store.settings,
            term=self.beat.term,
            may_generate=self.beat.may_generate,
            busy=self.beat.busy,
            will=self.beat.will,
            tag=self.beat.tag,
            known=self.beat.known,
        )

    @property
    def published(self) -> list[str]:
        """The ids in its page."""
        of_kinds = self.page.envelopes.values() if self.page else ()
        return [envelope.split(b" ", 1)[0].decode() for envelopes in of_kinds for envelope in envelopes]

    @property
    def completed(self) -> set[str]:
        return {each.decode() for done in self.done.values() for each in done.completed}

    @property
    def committed(self) -> dict[str, tuple[Sequence[Write], Sequence[Followup]]]:
        """What those that are completed ask for, by their ids."""
        return {ident.decode(): (writes, on) for done in self.done.values() for ident, writes, on in done.committed}

    @property
    def retried(self) -> list[str]:
        return [each.decode() for done in self.done.values() for each, _ in done.retried]

    @property
    def failed(self) -> list[str]:
        return [each.decode() for done in self.done.values() for each, _ in done.failed]

    @property
    def back(self) -> list[str]:
        return [each.decode() for done in self.done.values() for each in done.back]

    def __str__(self) -> str:
        text = f"{self.who.id} {self.what}"
        if self.what == "reclaim":
            text += f" {self.subject}"
        if self.beat is not None:
            said = self.beat
            text += f" term={said.term} may={said.may_generate} busy={said.busy} will={said.will} tag={said.tag} {said.known}"
        if self.page is not None:
            text += f" term={self.page.term} call={self.page.call} first={self.page.first} ids={self.published}"
        if self.turn is not None:
            text += f" turn={self.turn.turn} completed={sorted(self.completed)} failed={self.failed} back={self.back}"
            text += f" retried={self.retried} committed={sorted(self.committed)}"
            text += f"; as sent: {dict(self.turn.kinds)} {list(self.turn.runs)}"
        if self.what == "pause":
            text += f" {self.kinds} {'on' if self.on else 'off'}"
        if self.what == "handover":
            text += f" {self.term}"
        named = self.confirmed or self.failures
        return f"{text} {list(named)}" if named else text
