"""A call as it travels: made once by a client, executed by the server never, once or several times, early or late."""

from dataclasses import dataclass
from typing import TypeAlias

from soloist.errors import Defect
from soloist.store import messages, presence, records
from soloist.store.messages import Claimed, PageCall, TurnCall
from soloist.store.presence import Heard, Joined, Who
from soloist.store.records import Drained
from soloist.store.replies import Superseded
from tests.servers import Store

KINDS = ("a", "b")
"""The kinds of message of every history."""

Reply: TypeAlias = Joined | Heard | Claimed | Drained | Superseded | int | None


@dataclass(frozen=True)
class Beat:
    """What a beat says of its sender."""

    term: int
    may_generate: bool
    busy: bool
    tag: str


@dataclass(frozen=True)
class Call:
    """One call of one incarnation, with everything that it carries.

    Attributes:
        what: the script.
        subject: whom it is about; the caller, or the victim of a reclaim.
    """

    what: str
    who: Who
    subject: str
    beat: Beat | None = None
    page: PageCall | None = None
    turn: TurnCall | None = None
    confirmed: tuple[str, ...] = ()

    def execute(self, store: Store) -> Reply:
        """The real script on the real server. A refusal is an answer; a late copy of a join may find its id taken."""
        try:
            return self._execute(store)
        except Superseded as superseded:
            return superseded

    def _execute(self, store: Store) -> Reply:
        link, keys, settings, me = store.link, store.keys, store.settings, self.who.id
        if self.what == "join":
            try:
                return presence.join(link, keys, self.who, settings)
            except presence.EmptyNamespace:
                return None
            except Defect as refused:
                if "was taken" in str(refused):
                    return None
                raise
        if self.beat is not None:
            said = self.beat
            return presence.beat(
                link,
                keys,
                self.who,
                settings,
                term=said.term,
                may_generate=said.may_generate,
                busy=said.busy,
                will=0,
                tag=said.tag,
            )
        if self.page is not None:
            return messages.publish(link, keys, me, settings, self.page)
        if self.turn is not None:
            return messages.next_turn(link, keys, me, settings, self.turn)
        if self.what == "leave":
            return presence.leave(link, keys, me, settings, KINDS[:1])
        if self.what == "reclaim":
            return presence.reclaim(link, keys, self.subject, me, settings, KINDS[:1])
        if self.what == "drain":
            return records.drain(link, keys, me, 3)
        assert self.what == "confirm"
        return records.confirm(link, keys, me, self.confirmed)

    @property
    def published(self) -> list[str]:
        """The ids in its page."""
        of_kinds = self.page.envelopes.values() if self.page else ()
        return [envelope.split(b" ", 1)[0].decode() for envelopes in of_kinds for envelope in envelopes]

    @property
    def completed(self) -> set[str]:
        return {each.decode() for done in self._done for each in done.completed}

    @property
    def failed(self) -> set[str]:
        return {each.decode() for done in self._done for each, _ in done.failed}

    @property
    def back(self) -> set[str]:
        return {each.decode() for done in self._done for each in done.back}

    @property
    def _done(self) -> list[messages.Done]:
        return list(self.turn.done.values()) if self.turn else []

    def __str__(self) -> str:
        text = f"{self.who.id} {self.what}"
        if self.what == "reclaim":
            text += f" {self.subject}"
        if self.beat is not None:
            text += f" term={self.beat.term} may={self.beat.may_generate} busy={self.beat.busy} tag={self.beat.tag}"
        if self.page is not None:
            text += f" term={self.page.term} call={self.page.call} first={self.page.first} ids={self.published}"
        if self.turn is not None:
            want = next(iter(self.turn.done.values())).want
            text += f" turn={self.turn.turn} want={want} completed={sorted(self.completed)}"
            text += f" failed={sorted(self.failed)} back={sorted(self.back)}"
        if self.confirmed:
            text += f" {list(self.confirmed)}"
        return text
