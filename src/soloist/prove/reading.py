"""A source, call by call: what it publishes in all, if the generator is killed on the way and another goes on.

A page is accepted together with its cursor, or not at all. So a source that is killed before its page is accepted is called
again with the old cursor, and one that is killed after that, in what follows a `yield`, with the new one.
"""

import difflib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.declared import DeclaredSource
from soloist.errors import UsageError
from soloist.fitting import Flavour
from soloist.message import DEFAULT_KIND
from soloist.prove import child
from soloist.prove.child import Accepted, Ended, Refused, Report
from soloist.prove.crash_points import END, Point
from soloist.prove.history import History
from soloist.prove.life import PATIENCE, Life, refused
from soloist.prove.outcome import PUBLISHED, Outcome, message_told
from soloist.prove.own_code import OwnCode
from soloist.runtime.flow import Course
from soloist.runtime.incarnation import Incarnation, introduce
from soloist.runtime.pages import Sheet, cursor_from
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.reader import PAGE_MOST
from soloist.runtime.telling import told
from soloist.settings import Settings
from soloist.store.presence import Term

if TYPE_CHECKING:
    from soloist.app import App

WITHOUT_GATHERING = 1.0
"""Seconds between calls, as a source is told: one that goes as fast as it can would have its messages gathered by time."""


YIELDING = (Flavour.GENERATOR, Flavour.ASYNC_GENERATOR)


class Reading:
    """One source, from a cursor on.

    Args:
        cursor: the stored one; None: none yet.
        calls: how many pages are to be accepted; fewer if it has nothing more.
    """

    def __init__(self, app: "App", name: str, cursor: Any, calls: int, settings: Settings) -> None:
        declared = _declared(app, name)
        self.what = f"the source {declared.where}"
        self.own = OwnCode(declared.fit.function)
        self._app = app
        self._declared = replace(declared, every=WITHOUT_GATHERING)
        self._calls = calls
        self._has_lasting = False  # threads that go on for ever are waited for once, not at every crash point
        self._settings = settings
        self._cursor = None if cursor is None else msgspec.json.encode(cursor).decode()
        try:
            cursor_from(self._cursor, declared.cursor_type)
        except UsageError as error:
            raise UsageError(f"{self.what}: {error}.") from None

    def run(self, at: Point | None, *, is_quiet: bool) -> History:
        """Call until so many pages are accepted, or it has nothing; killed once on the way if a crash point is named."""
        history = History()
        stored, published, left = self._cursor, list[str](), self._calls
        while True:
            number = len(history.processes)
            crash_at = at.number if at is not None and at.process == number else None
            ended = self._process(partial(self._read, stored, left, number + 1, crash_at), is_quiet)
            history.add(ended)
            self._has_lasting |= ended.seen.has_lasting
            for page in ended.records:
                if isinstance(page, Accepted):
                    published += page.published
                    stored = page.cursor
                    left -= 1
            if ended.crashed in (None, END):
                break
        outcome = Outcome(said={"cursor": stored or "none"}, lists={PUBLISHED: published})
        history.trouble = _trouble(ended)
        if history.trouble is not None:
            outcome.said["the source"] = history.trouble
        if not published:
            history.fate = "nothing is published"
        history.outcome = outcome
        return history

    def _process(self, read: Callable[[Report], None], is_quiet: bool) -> Ended:
        within = (self._declared.timeout or PATIENCE) * self._calls
        return child.run(read, within=within, is_quiet=is_quiet)

    def _read(self, stored: str | None, left: int, term: int, crash_at: int | None, report: Report) -> None:
        """In the child: be the generator of one term."""
        life = Life(report, self.own, crash_at, waits=not self._has_lasting)
        try:
            with life.of(self._app):
                cursors = {} if stored is None else {self._declared.name: stored}
                course = Course(self._declared, _term(term, cursors), life.ctx, life.loop, self._settings.max_body)
                work = partial(self._call, course, life, left, stored, report)
                life.on_thread(work, f"source {self._declared.name}")
        except UsageError as error:
            refused(report, error)

    def _call(self, course: Course, life: Life, left: int, stored: str | None, report: Report) -> None:
        is_dry = False
        while left > 0 and not is_dry:
            try:
                sheet = life.watched(lambda: course.page(PAGE_MOST))
            except UsageError:
                raise
            except BaseException as error:
                raise UsageError(f"raised {told(error)}") from error
            is_dry = not course.is_worth_a_call(sheet)
            if not is_dry:
                stored = sheet.cursor or stored
                report.write(Accepted(_published(sheet), stored))
                course.accepted(sheet)
                left -= 1
        with suppress(BaseException):  # what a source raises when it is closed is logged in an instance, and no more
            if not is_dry and self._declared.fit.flavour in YIELDING:
                # What follows the last `yield` belongs to its page. It is not watched: the page after it, which may make
                # up for it, is not asked for any more. What it yields next is given up, as at the end of a term.
                course.page(PAGE_MOST)
            if not life.ends_in_a_crash:
                course.close()


def _declared(app: "App", name: str) -> DeclaredSource:
    for each in app.sources:
        if each.name == name:
            return each
    names = [each.name for each in app.sources]
    meant = "".join(f"Did you mean {each}? " for each in difflib.get_close_matches(name, names, n=1))
    raise UsageError(f"{app.where} has no source {name!r}. {meant}It has: {', '.join(names) or 'none'}.")


def _term(number: int, cursors: dict[str, str]) -> PlayedTerm:
    """One that nobody contests."""
    incarnation = Incarnation(introduce("prove", ()), number, "")
    return PlayedTerm(Term(number, 0, 0, "", 0, cursors), incarnation, 0.0, 0.0)


def _published(sheet: Sheet) -> list[str]:
    bodies = [message_told(DEFAULT_KIND, "", body) for body in sheet.bodies]
    return bodies + [message_told(kind, key.decode(), body) for kind, key, body in sheet.messages]


def _trouble(ended: Ended) -> str | None:
    if ended.trouble is not None:
        return ended.trouble
    return next((each.reason for each in ended.records if isinstance(each, Refused)), None)
