"""How the pages of a source come: call by call, or step by step from a Python generator; sync or async."""

import time
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Protocol

from soloist.declared import DeclaredSource
from soloist.fitting import Flavour
from soloist.runtime.loop import Loop
from soloist.runtime.pages import Sheet, body_of, cursor_from, sheet_of
from soloist.runtime.played_term import PlayedTerm
from soloist.source import Msg, Page, Source

PAGE_WORK = 0.005
PAGE_BYTES = 2**20
"""Single messages of a source that goes as fast as it can are gathered: for so many seconds, up to so many bytes."""


_END = object()


class Flow(Protocol):
    """The pages of one source in one term."""

    def page(self, most: int) -> Sheet:
        """The next one; what the user's code raises goes through."""

    def close(self) -> None:
        """There will be no more of this term."""


class Calls:
    """One call a page. Of a sync source that goes as fast as it can, many calls: single messages are gathered."""

    def __init__(self, call: Callable[[], Any], *, gathers: bool, max_body: int) -> None:
        self._call = call
        self._gathers = gathers
        self._max_body = max_body
        self._kept: Any = None
        self._raised: BaseException | None = None

    def page(self, most: int) -> Sheet:
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        if self._kept is not None:
            returned, self._kept = self._kept, None
            return sheet_of(returned, self._max_body)
        if not self._gathers:
            return sheet_of(self._call(), self._max_body)
        return self._gathered(most)

    def _gathered(self, most: int) -> Sheet:
        call, max_body = self._call, self._max_body
        bodies: list[bytes] = []
        size, until = 0, time.monotonic() + PAGE_WORK
        while len(bodies) < most and size < PAGE_BYTES:
            try:
                made = call()
                if made is None:
                    break
                if isinstance(made, Page | Msg):
                    if not bodies:
                        return sheet_of(made, max_body)
                    self._kept = made  # behind those that were made before it
                    break
                body = body_of(made, max_body)
            except BaseException as error:
                if not bodies:
                    raise
                self._raised = error  # told with the next page: what was made before it is published
                break
            bodies.append(body)
            size += len(body)
            if not len(bodies) & 15 and time.monotonic() > until:
                break
        return Sheet(bodies=bodies)

    def close(self) -> None:
        pass


class Steps:
    """One step of a Python generator a page: it goes on only after the page was accepted, and is closed if not."""

    def __init__(self, begin: Callable[[], Generator[Any, None, None]], max_body: int) -> None:
        self._begin = begin
        self._max_body = max_body
        self._running: Generator[Any, None, None] | None = None

    def page(self, most: int) -> Sheet:  # noqa: ARG002 - source.room says the same
        if self._running is None:
            self._running = self._begin()
        try:
            yielded = next(self._running)
        except StopIteration:
            self._running = None
            return Sheet()
        except BaseException:
            self._running = None
            raise
        return _sheet_or_close(yielded, self._max_body, self.close)

    def close(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            running.close()


class AsyncCalls:
    """One await a page."""

    def __init__(self, call: Callable[[], Any], loop: Loop, timeout: float | None, max_body: int) -> None:
        self._call = call
        self._loop = loop
        self._timeout = timeout
        self._max_body = max_body

    def page(self, most: int) -> Sheet:  # noqa: ARG002 - source.room says the same
        return sheet_of(self._loop.run(self._call, self._timeout), self._max_body)

    def close(self) -> None:
        pass


class AsyncSteps:
    """One step of an async generator a page."""

    def __init__(
        self, begin: Callable[[], AsyncGenerator[Any, None]], loop: Loop, timeout: float | None, max_body: int
    ) -> None:
        self._begin = begin
        self._loop = loop
        self._timeout = timeout
        self._max_body = max_body
        self._running: AsyncGenerator[Any, None] | None = None

    def page(self, most: int) -> Sheet:  # noqa: ARG002 - source.room says the same
        if self._running is None:
            self._running = self._begin()
        running = self._running
        try:
            yielded = self._loop.run(lambda: anext(running, _END), self._timeout)
        except BaseException:
            self._running = None
            raise
        if yielded is _END:
            self._running = None
            return Sheet()
        return _sheet_or_close(yielded, self._max_body, self.close)

    def close(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            self._loop.run(running.aclose, self._timeout)


class Course:
    """The pages of one source in one term, and the cursor that goes with them."""

    def __init__(self, declared: DeclaredSource, term: PlayedTerm, ctx: Any, loop: Loop, max_body: int) -> None:
        self._declared = declared
        self._stored = term.cursors.get(declared.name)
        self._source: Source[Any, Any] = Source(ctx=ctx, term=term.number)
        self._loop = loop
        self._max_body = max_body
        self._flow: Flow | None = None

    def page(self, room: int) -> Sheet:
        """The next one; what the user's code raises goes through."""
        self._source.room = room
        if self._flow is None:
            self._source.cursor = cursor_from(self._stored, self._declared.cursor_type)
            self._flow = self._begin()
        return self._flow.page(room)

    def accepted(self, sheet: Sheet) -> None:
        """The last page is published: its cursor is the one to go on with."""
        if sheet.cursor is not None:
            self._stored = sheet.cursor
            self._source.cursor = cursor_from(self._stored, self._declared.cursor_type)

    def close(self) -> None:
        if self._flow is not None:
            self._flow.close()

    def _begin(self) -> Flow:
        declared, loop, max_body = self._declared, self._loop, self._max_body
        call = declared.fit.bind_both(self._source, self._source.ctx)
        match declared.fit.flavour:
            case Flavour.ASYNC:
                return AsyncCalls(call, loop, declared.timeout, max_body)
            case Flavour.ASYNC_GENERATOR:
                return AsyncSteps(call, loop, declared.timeout, max_body)
            case Flavour.GENERATOR:
                return Steps(call, max_body)
            case _:
                return Calls(call, gathers=declared.every == 0, max_body=max_body)


def _sheet_or_close(yielded: Any, max_body: int, close: Callable[[], None]) -> Sheet:
    """What cannot be published ends the Python generator too: it would go on as if it had been."""
    try:
        return sheet_of(yielded, max_body)
    except BaseException:
        close()
        raise
