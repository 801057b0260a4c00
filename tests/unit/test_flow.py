"""runtime/flow.py: how the pages of a source come, and when its cursor moves."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from soloist import Msg, Page, Source
from soloist.declared import declare_source
from soloist.errors import UsageError
from soloist.runtime import flow
from soloist.runtime.flow import Course
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.loop import Loop
from soloist.runtime.pages import Sheet
from soloist.runtime.played_term import PlayedTerm
from soloist.store.presence import Term, Who
from tests.unit.hand_clock import put_in_place

ROOM = 10


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.stop(5)


Begin = Callable[..., Course]


@pytest.fixture
def begin(loop: Loop) -> Iterator[Begin]:
    """The pages of a function in a new term."""
    courses: list[Course] = []

    def begun(
        function: Callable[..., Any], cursor: str | None = None, *, every: float = 1, timeout: float | None = 30
    ) -> Course:
        cursors = {} if cursor is None else {"name": cursor}
        told = Term(number=7, call=0, seq=0, tag="t", takeover_ms=0, cursors=cursors)
        term = PlayedTerm(told, Incarnation(Who("ann", 1, "app", "host", 1), 1, ""), 0.0, 2.0)
        courses.append(Course(declare_source("name", function, every, timeout), term, "ctx", loop, 100))
        return courses[-1]

    yield begun
    for course in courses:
        course.close()


def bodies(sheet: Sheet) -> list[str]:
    return [body.decode() for _, _, body in sheet.messages] or [body.decode() for body in sheet.bodies]


def next_of(course: Course) -> list[str]:
    """The bodies of the next page, which is accepted."""
    sheet = course.page(ROOM)
    course.accepted(sheet)
    return bodies(sheet)


# the cursor


def test_a_source_is_told_cursor_room_term_and_ctx(begin: Begin) -> None:
    seen: list[Any] = []

    def read(source: Source[str, int], ctx: str) -> None:
        seen.append((source.cursor, source.room, source.term, source.ctx, ctx))

    begin(read, "41").page(3)

    assert seen == [(41, 3, 7, "ctx", "ctx")]


def test_the_cursor_moves_when_the_page_is_accepted_and_not_before(begin: Begin) -> None:
    """A page that was not accepted leaves no trace: the next call gets the old one."""
    seen: list[int | None] = []

    def read(source: Source[None, int]) -> Page[int]:
        seen.append(source.cursor)
        return Page(["a"], cursor=(source.cursor or 0) + 1)

    course = begin(read)
    course.page(ROOM)
    accepted = course.page(ROOM)
    course.accepted(accepted)
    course.page(ROOM)

    assert seen == [None, None, 1]


def test_a_page_without_a_cursor_leaves_the_stored_one(begin: Begin) -> None:
    seen: list[int | None] = []

    def read(source: Source[None, int]) -> str:
        seen.append(source.cursor)
        return "a"

    course = begin(read, "5")
    next_of(course)
    next_of(course)

    assert seen == [5, 5]


def test_what_a_source_does_to_its_own_cursor_counts_for_nothing(begin: Begin) -> None:
    """Only a page moves it: the call may have failed behind that."""
    seen: list[Any] = []

    def read(source: Source[None, dict[str, int]]) -> None:
        assert source.cursor is not None
        seen.append(dict(source.cursor))
        source.cursor["at"] = 99
        source.cursor = None
        raise RuntimeError("half-way")

    course = begin(read, '{"at":1}')
    for _ in range(2):
        with pytest.raises(RuntimeError, match="half-way"):
            course.page(ROOM)

    assert seen == [{"at": 1}, {"at": 1}]


def test_a_cursor_that_does_not_fit_its_annotation_is_refused_before_it_is_stored(begin: Begin) -> None:
    """Nobody could go on with it, on no instance."""
    seen: list[int | None] = []

    def read(source: Source[None, int]) -> Page[Any]:
        seen.append(source.cursor)
        return Page(["a"], cursor="seven")

    course = begin(read, "5")
    line = read.__code__.co_firstlineno
    for _ in range(2):
        with pytest.raises(UsageError, match=rf"the source read \(test_flow.py, line {line}\): the cursor \"seven\""):
            course.page(ROOM)

    assert seen == [5, 5]


def test_a_stored_cursor_that_does_not_fit_is_told_and_the_source_is_not_called(begin: Begin) -> None:
    """It was stored by an older version of the function, perhaps: from where should it go on?"""
    called: list[bool] = []

    def read(source: Source[None, int]) -> None:
        called.append(True)

    with pytest.raises(UsageError, match=r"the source read \(test_flow.py, line \d+\): the cursor \"x\" does not fit"):
        begin(read, '"x"').page(ROOM)

    assert not called


def test_nothing_new_is_not_worth_a_call(begin: Begin) -> None:
    """A source that says each time where it stands costs nothing while it stands there."""
    course = begin(lambda: None, "5")

    assert not course.is_worth_a_call(Sheet())
    assert not course.is_worth_a_call(Sheet(cursor="5"))
    assert course.is_worth_a_call(Sheet(cursor="6"))
    assert course.is_worth_a_call(Sheet(bodies=[b"a"], cursor="5"))
    course.accepted(Sheet(cursor="6"))
    assert not course.is_worth_a_call(Sheet(cursor="6"))


# calls


def test_a_source_with_a_rhythm_makes_one_message_a_call(begin: Begin) -> None:
    made = iter("abc")
    course = begin(lambda: next(made))

    assert [next_of(course), next_of(course)] == [["a"], ["b"]]


def test_a_source_that_goes_as_fast_as_it_can_is_called_many_times_a_page(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to what there is room for; until it has nothing."""
    put_in_place(monkeypatch, "soloist.runtime.flow")
    made = iter([*map(str, range(13)), None, "more"])
    course = begin(lambda: next(made), every=0)

    assert next_of(course) == [str(number) for number in range(10)]
    assert next_of(course) == ["10", "11", "12"]
    assert next_of(course) == ["more"], "what it raised behind that comes next"


def test_gathering_ends_when_it_takes_long(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a slow source to fill a page."""
    clock = put_in_place(monkeypatch, "soloist.runtime.flow")

    def make() -> str:
        clock.pass_by(flow.PAGE_WORK)
        return "slow"

    course = begin(make, every=0)

    assert len(bodies(course.page(1000))) == 16


def test_gathering_ends_when_there_is_much_of_it(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, "soloist.runtime.flow")
    monkeypatch.setattr(flow, "PAGE_BYTES", 25)
    course = begin(lambda: "x" * 10, every=0)

    assert len(bodies(course.page(1000))) == 3


def test_what_was_gathered_before_an_exception_is_published_and_then_it_is_told(begin: Begin) -> None:
    """Also StopIteration, which an iterator of the user's ends with."""
    made = iter("ab")
    course = begin(lambda: next(made), every=0)

    assert next_of(course) == ["a", "b"]
    with pytest.raises(StopIteration):
        course.page(ROOM)


@pytest.mark.parametrize("returned", [Msg("kind", "last"), Page(["last"])])
def test_a_page_among_single_messages_comes_behind_those_before_it(begin: Begin, returned: Any) -> None:
    made = iter(["a", "b", returned, None])
    course = begin(lambda: next(made), every=0)

    assert next_of(course) == ["a", "b"]
    assert next_of(course) == ["last"]
    assert next_of(course) == []


def test_a_wrong_answer_is_told_with_function_file_and_line(begin: Begin) -> None:
    def wrong() -> object:
        return object()

    line = wrong.__code__.co_firstlineno
    with pytest.raises(
        UsageError, match=rf"the source wrong \(test_flow.py, line {line}\): object can be no body: .*\.$"
    ):
        begin(wrong).page(ROOM)


# Python generators, sync and async: the same rules


class Script:
    """A source as a Python generator, of either sort, and what it has done."""

    def __init__(self, flavour: str, pages: list[Any]) -> None:
        self.done: list[Any] = []
        self._pages = pages
        self.function: Callable[..., Any] = self.steps if flavour == "sync" else self.async_steps

    def steps(self, source: Source[None, Any]) -> Iterator[Any]:
        try:
            self.done.append("begun")
            for page in self._pages:
                if isinstance(page, Exception):
                    raise page
                yield page
                self.done.append(("accepted", source.cursor))
            self.done.append("ended")
        finally:
            self.done.append("closed")

    async def async_steps(self, source: Source[None, Any]) -> AsyncIterator[Any]:
        for page in self.steps(source):
            await asyncio.sleep(0)
            yield page


sync_and_async = pytest.mark.parametrize("flavour", ["sync", "async"])


@sync_and_async
def test_what_follows_a_yield_runs_only_after_the_page_was_accepted(begin: Begin, flavour: str) -> None:
    """With the cursor of that page."""
    script = Script(flavour, [Page(["a"], cursor=1), Page(["b"], cursor=2)])
    course = begin(script.function)

    sheet = course.page(ROOM)
    assert (bodies(sheet), script.done) == (["a"], ["begun"])
    course.accepted(sheet)
    assert script.done == ["begun"]
    sheet = course.page(ROOM)
    assert (bodies(sheet), script.done) == (["b"], ["begun", ("accepted", 1)])


@sync_and_async
def test_a_python_generator_whose_page_was_refused_is_closed_where_it_stands(begin: Begin, flavour: str) -> None:
    """What follows the yield never runs; `finally` does."""
    script = Script(flavour, [Page(["a"], cursor=1)])
    course = begin(script.function)

    course.page(ROOM)
    course.close()
    course.close()

    wait_for_gc_of(script)
    assert script.done == ["begun", "closed"]


def wait_for_gc_of(script: Script) -> None:
    """The inner generator of the async one is ended with the frame that held it."""
    import gc

    gc.collect()
    assert script.done


def test_an_async_generator_is_closed_before_anything_else_happens(begin: Begin) -> None:
    """Not at some time later, when Python finds out that nobody needs it."""
    done: list[str] = []

    async def steps() -> AsyncIterator[str]:
        try:
            yield "a"
        finally:
            await asyncio.sleep(0.05)
            done.append("closed")

    course = begin(steps)
    course.page(ROOM)
    course.close()

    assert done == ["closed"]


@sync_and_async
def test_one_that_has_ended_is_begun_anew_when_it_is_due(begin: Begin, flavour: str) -> None:
    """In the same step: a function with one yield comes each time, not every other time."""
    script = Script(flavour, ["a"])
    course = begin(script.function)

    assert [next_of(course) for _ in range(3)] == [["a"], ["a"], ["a"]]
    assert script.done[:4] == ["begun", ("accepted", None), "ended", "closed"]


@sync_and_async
def test_one_that_ends_after_more_is_done_for_this_time(begin: Begin, flavour: str) -> None:
    """It was resumed at once, for what follows its last yield: it must not begin anew as fast as it can."""
    script = Script(flavour, [Page(["a"], more=True), Page(["b"], more=True)])
    course = begin(script.function)

    assert [next_of(course) for _ in range(5)] == [["a"], ["b"], [], ["a"], ["b"]]


@sync_and_async
def test_one_that_never_yields_has_nothing(begin: Begin, flavour: str) -> None:
    """It is begun once a tick, not for ever."""
    script = Script(flavour, [])
    course = begin(script.function)

    assert [next_of(course), next_of(course)] == [[], []]
    assert script.done.count("begun") == 2


@sync_and_async
def test_one_that_raises_is_begun_anew(begin: Begin, flavour: str) -> None:
    """What it raised goes through, once."""
    script = Script(flavour, ["a", ValueError("no more")])
    course = begin(script.function)

    assert next_of(course) == ["a"]
    with pytest.raises(ValueError, match="no more"):
        course.page(ROOM)
    assert next_of(course) == ["a"]


@sync_and_async
@pytest.mark.parametrize("wrong", [Page("no list"), Page(["a"], cursor=object()), object()])
def test_what_cannot_be_published_closes_the_python_generator(begin: Begin, flavour: str, wrong: Any) -> None:
    """It would go on as if it had been accepted."""
    script = Script(flavour, [wrong])
    course = begin(script.function)

    with pytest.raises(UsageError, match=r"the source (async_)?steps \(test_flow.py, line \d+\): "):
        course.page(ROOM)

    wait_for_gc_of(script)
    assert script.done == ["begun", "closed"]


def test_a_cursor_that_does_not_fit_closes_the_python_generator_too(begin: Begin) -> None:
    done: list[str] = []

    def read(source: Source[None, int]) -> Iterator[Page[Any]]:
        try:
            yield Page(["a"], cursor="seven")
            done.append("went on")
        finally:
            done.append("closed")

    with pytest.raises(UsageError, match="does not fit the annotation"):
        begin(read).page(ROOM)

    assert done == ["closed"]


def test_a_python_generator_that_does_not_let_itself_be_closed_says_so(begin: Begin) -> None:
    def stubborn() -> Iterator[str]:
        while True:
            try:
                yield "a"
            except GeneratorExit:
                yield "not yet"

    course = begin(stubborn)
    course.page(ROOM)

    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        course.close()


# async


def test_an_async_source_is_awaited(begin: Begin) -> None:
    """In the event loop of the instance, whose thread it is not that waits."""
    threads: list[str] = []

    async def read(source: Source[None, int]) -> Page[int]:
        await asyncio.sleep(0)
        threads.append(threading.current_thread().name)
        return Page(["a"], cursor=1)

    assert next_of(begin(read)) == ["a"]
    assert threads == ["loop"]


@pytest.mark.parametrize("yields", [False, True])
def test_an_async_source_that_takes_too_long_is_cancelled(begin: Begin, yields: bool) -> None:
    """And begun anew with the next page."""
    done: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            done.append("cancelled")
            raise

    async def steps() -> AsyncIterator[str]:
        await hang()
        yield "never"

    course = begin(steps if yields else hang, timeout=0.01)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            course.page(ROOM)

    assert done == ["cancelled", "cancelled"]
