"""The order of it all: twice without a crash, then once for each crash point."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from soloist.errors import UsageError
from soloist.prove.child import TOO_LATE
from soloist.prove.crash_points import Place, Point, When, chosen
from soloist.prove.handling import Handling
from soloist.prove.history import History
from soloist.prove.outcome import differences
from soloist.prove.own_code import OwnCode
from soloist.prove.reading import Reading
from soloist.prove.verdict import Finding, Verdict, text_of
from soloist.prove.world import World
from soloist.settings import Settings
from soloist.target import Said, settings_of

if TYPE_CHECKING:
    from soloist.app import App

MOST = 200
"""Crash points that are tried unless something else is said: some seconds."""

CALLS = 3
"""Pages of a source: the first, one that goes on from a cursor, and the code behind a `yield` between them."""

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many crash points were tried, and of how many."""


class Subject(Protocol):
    """What is proved: a handler or a source."""

    what: str
    own: OwnCode

    def run(self, at: Point | None, *, is_quiet: bool) -> History:
        """From the beginning to the end; killed once on the way if a crash point is named."""


def prove_handler(
    app: "App",
    kind: str,
    *bodies: Any,
    key: str = "",
    world: Callable[[], Any] | None = None,
    reset: Callable[[], Any] | None = None,
    most: int = MOST,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Kill the handler of a kind after every line that it executes, and deliver the message again each time.

    `world` and `reset` are called in this process, so they may look at a fake in its memory. Each attempt is a fork of it:
    what they open, they should close.

    Args:
        bodies: of the message: text, bytes, or anything that JSON can tell; several for a handler of batches.
        key: of the message, as a source would give it; else its id.
        world: answers the outside world as anything that JSON can tell, best as a dictionary of counts and rows.
        reset: sets it back to what it is to be before each run.
        most: crash points that are tried; of every line its first and last times come first.

    Raises:
        UsageError: there is no such handler, or nothing can be proved: it says why.
    """
    handling = Handling(app, kind, bodies, key, settings or _settings(app))
    return _prove(handling, World(world, reset), "the message was completed", most, progress)


def prove_source(
    app: "App",
    name: str,
    *,
    cursor: Any = None,
    calls: int = CALLS,
    world: Callable[[], Any] | None = None,
    reset: Callable[[], Any] | None = None,
    most: int = MOST,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Kill the generator after every line of a source, let another go on, and compare what is published in all.

    Args:
        cursor: the one that is stored at the beginning; None: none yet.
        calls: pages that are accepted, unless it has nothing before that.
        world: and reset, most: as for a handler.

    Raises:
        UsageError: there is no such source, or nothing can be proved: it says why.
    """
    reading = Reading(app, name, cursor, calls, settings or _settings(app))
    return _prove(reading, World(world, reset), "the last page was accepted", most, progress)


def _settings(app: "App") -> Settings:
    """As `app.start()` has them: code, file, environment."""
    return settings_of(Said({}, embedded=False, config=None, spelling=str, remedy=""), app)


def _prove(subject: Subject, world: World, end: str, most: int, progress: Progress | None) -> Verdict:
    begun = time.monotonic()
    world.begin()
    before, _ = world.look()
    wanted = _without_a_crash(subject, world, is_quiet=False)
    world.begin()
    _require_same(subject, _without_a_crash(subject, world, is_quiet=True), wanted)
    points = chosen(wanted.points, most)
    findings: list[Finding] = []
    missed = 0
    for done, point in enumerate(points):
        if progress is not None:
            progress(done, len(points))
        world.begin()
        history = _looked(subject.run(point, is_quiet=True), world)
        if history.crashed is None:
            missed += 1
            continue
        differ = differences(history.outcome, wanted.outcome)
        if differ:
            findings.append(_finding(point, history.crashed, differ))
    return Verdict(
        what=subject.what,
        file=subject.own.file,
        end=end,
        many=wanted.many,
        tried=len(points),
        missed=missed,
        seconds=time.monotonic() - begun,
        fate=wanted.fate,
        has_world=world.is_known,
        is_blind=world.is_known and before == wanted.outcome.world and not any(wanted.outcome.lists.values()),
        findings=tuple(findings),
    )


def _without_a_crash(subject: Subject, world: World, *, is_quiet: bool) -> History:
    history = _looked(subject.run(None, is_quiet=is_quiet), world)
    if history.trouble is not None:
        remedy = " Declare it with timeout=… if it needs longer." if history.trouble.startswith(TOO_LATE) else ""
        raise UsageError(f"{subject.what} does not come to its end without a crash: {history.trouble}.{remedy}")
    if history.outcome.world_failure is not None:
        raise UsageError(f"the world cannot be shown: {history.outcome.world_failure}.")
    return history


def _looked(history: History, world: World) -> History:
    history.outcome.world, history.outcome.world_failure = world.look()
    return history


def _require_same(subject: Subject, again: History, wanted: History) -> None:
    differ = differences(again.outcome, wanted.outcome)
    if differ:
        raise UsageError(
            f"{subject.what}: two runs without any crash differ: {'; '.join(differ)}. "
            f"Let the reset set back everything, and leave out of the world what is another each time (times, random ids)."
        )


def _finding(point: Point, crashed: Place, differ: tuple[str, ...]) -> Finding:
    """Told with the place at which it was killed indeed: it may take another way each time."""
    found = point if crashed == point.place else point._replace(place=crashed, time=0)
    text = "" if crashed.when is When.END else text_of(crashed.file, crashed.line)
    return Finding(found, text, differ, text_of(crashed.by_file, crashed.by_line) if crashed.by_line else "")
