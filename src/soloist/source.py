"""What a source is given, and what it returns: Source, Msg, Page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Ctx = TypeVar("Ctx")
Cursor = TypeVar("Cursor")


class Source(Generic[Ctx, Cursor]):
    """What a source may know when it is called.

    Attributes:
        cursor: the one that was stored with the last page of this source, on whichever instance that was; None: none yet.
        room: how many messages the next page should have at most.
        ctx: what the App's lifespan yielded.
        term: the number of the term. It only grows: a guard against one's own past for systems that can compare.
    """

    __slots__ = ("ctx", "cursor", "room", "term")

    def __init__(
        self, *, cursor: Cursor | None = None, room: int = 1000, ctx: Ctx | None = None, term: int = 0
    ) -> None:
        self.cursor = cursor
        self.room = room
        self.ctx: Ctx = ctx  # type: ignore[assignment]  # who has a lifespan knows what it yields
        self.term = term

    def __repr__(self) -> str:
        return f"<Source cursor={self.cursor!r} room={self.room} term={self.term}>"


@dataclass(frozen=True, slots=True)
class Msg:
    """A message to be published.

    Attributes:
        kind: which handler it is for.
        body: text and bytes as they are, anything else as JSON.
        key: what makes it this one and no other in the world that it comes from: `message.key`, else its id.
    """

    kind: str
    body: Any
    key: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[Cursor]):
    """Messages that are published in one step, and the cursor that is stored in the same step.

    Attributes:
        messages: `Msg`, or bodies of the default kind. None at all: only the cursor is stored.
        cursor: where to go on; anything that JSON can tell. None: the stored one stays.
        more: there is more, call again at once.
        wait: do not call again before so many seconds are over. Not stored: a successor calls anew.
    """

    messages: Sequence[Any] = ()
    cursor: Cursor | None = None
    more: bool = False
    wait: float = 0.0
