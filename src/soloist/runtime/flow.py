"""How the pages of a source come: call by call, or step by step from a Python generator; sync or async."""

import time
from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial
from typing import Any, Protocol

from soloist.declared import DeclaredSource
from soloist.errors import UsageError
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
        short = max_body // 4  # characters that are within it, however they are encoded
        bodies: list[bytes] = []
        size, until = 0, time.monotonic() + PAGE_WORK
        while len(bodies) < most and size < PAGE_BYTES:
            try:
                made = call()
                if type(made) is str and len(made) <= short:  # the usual case, at a third of the cost
                    body = made.encode()
                elif made is None:
                    break
                elif isinstance(made, Page | Msg):
                    if not bodies:
                        return sheet_of(made, max_body)
                    self._kept = made  # behind those that were made before it
                    break
                else:
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
    """One step of a Python generator a page: it goes on only after the page was accepted, and is closed if not.

    One that has ended is begun anew with the next page: at once, if a tick resumed it (else a function with one `yield`
    would come only every other time); with the next tick, if `more` did.
    """

    def __init__(self, begin: Callable[[], Generator[Any, None, None]], max_body: int) -> None:
        self._begin = begin
        self._max_body = max_body
        self._running: Generator[Any, None, None] | None = None
        self._said_more = False

    def page(self, most: int) -> Sheet:  # noqa: ARG002 - source.room says the same
        is_resumed = self._running is not None
        yielded = self._step()
        if yielded is _END and is_resumed and not self._said_more:
            yielded = self._step()
        if yielded is _END:
            return Sheet()
        sheet = sheet_of(yielded, self._max_body)
        self._said_more = sheet.more
        return sheet

    def _step(self) -> Any:
        if self._running is None:
            self._running = self._begin()
        try:
            yielded = next(self._running, _END)
        except BaseException:
            self._running = None
            raise
        if yielded is _END:
            self._running = None
        return yielded

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


def stepped(
    begin: Callable[[], AsyncGenerator[Any, None]], loop: Loop, timeout: float | None
) -> Generator[Any, None, None]:
    """An async generator as a plain one: each step is awaited in the loop."""
    running = begin()
    is_open = True
    try:
        while True:
            try:
                yielded = loop.run(lambda: anext(running, _END), timeout)
            except BaseException:
                is_open = False  # what has raised, or was cancelled, is over
                raise
            if yielded is _END:
                is_open = False
                return
            yield yielded
    finally:
        if is_open:
            loop.run(running.aclose, timeout)


class Course:
    """The pages of one source in one term, and the cursor that goes with them."""

    def __init__(self, declared: DeclaredSource, term: PlayedTerm, ctx: Any, loop: Loop, max_body: int) -> None:
        self._declared = declared
        self._stored = term.cursors.get(declared.name)
        self._source: Source[Any, Any] = Source(ctx=ctx, term=term.number)
        self._flow = self._begin(loop, max_body)

    def page(self, room: int) -> Sheet:
        """The next one; what the user's code raises goes through.

        Raises:
            UsageError: what the function answered cannot be published, or its cursor not be read again.
        """
        declared = self._declared
        try:
            # Anew each time: the function may have changed its own, and failed since.
            self._source.cursor = cursor_from(self._stored, declared.cursor_type)
            self._source.room = room
            sheet = self._flow.page(room)
            cursor_from(sheet.cursor, declared.cursor_type)  # before it is stored: nobody could go on with it
        except UsageError as error:
            self._flow.close()  # a Python generator would go on as if its page had been accepted
            raise UsageError(f"the source {declared.where}: {error}.") from None
        return sheet

    def is_worth_a_call(self, sheet: Sheet) -> bool:
        """Whether there is anything to publish or to store."""
        return bool(sheet.many) or sheet.cursor not in (None, self._stored)

    def accepted(self, sheet: Sheet) -> None:
        """The last page is published: its cursor is the one to go on with."""
        if sheet.cursor is not None:
            self._stored = sheet.cursor

    def close(self) -> None:
        self._flow.close()

    def _begin(self, loop: Loop, max_body: int) -> Flow:
        declared = self._declared
        call = declared.fit.bind_both(self._source, self._source.ctx)
        match declared.fit.flavour:
            case Flavour.ASYNC:
                return AsyncCalls(call, loop, declared.timeout, max_body)
            case Flavour.ASYNC_GENERATOR:
                return Steps(partial(stepped, call, loop, declared.timeout), max_body)
            case Flavour.GENERATOR:
                return Steps(call, max_body)
            case _:
                return Calls(call, gathers=declared.every == 0, max_body=max_body)
