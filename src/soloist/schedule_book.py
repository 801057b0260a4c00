"""The schedules of a namespace: looked at, added, changed, paused, removed, run. The generator follows within a heartbeat."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from soloist.errors import UsageError
from soloist.fitting import here
from soloist.message import encode_body
from soloist.schedules.schedule import Missed, Overlap, Schedule

if TYPE_CHECKING:
    from soloist.store.agenda import Agenda
    from soloist.store.keys import Keys
    from soloist.store.link import Link
    from soloist.target import Target

TIMEOUT = 5.0
PATIENCE = 30.0


@dataclass(frozen=True)
class ScheduleSnapshot:
    """A schedule at one instant. Moments are seconds since the epoch; None where there is none.

    Attributes:
        when: the cron expression, or "every 60 s".
        origin: code or data.
        next_run: when its next tick is to be published, if it is not paused.
        last_run: the last tick that was published.
        running: how many runs are not over: they wait, are handled, or are tried again later.
        last_result: of the last run that is over: completed or failed.
        last_seconds: how long that took.
        failures: how many have failed in a row.
        skipped: ticks that were not made up for.
    """

    name: str
    kind: str
    when: str
    tz: str
    jitter: float
    missed: Missed
    overlap: Overlap
    body: str
    origin: str
    paused: bool
    next_run: float | None
    last_run: float | None
    running: int
    last_result: str | None
    last_seconds: float | None
    failures: int
    skipped: int


class Schedules:
    """What `app.schedules` and `soloist schedules` do.

    Args:
        goal: answers where the App is; told for whom.
        app: its name; empty: whatever is there.
        where: schedules are added, for the sentence that refuses one; empty: that is looked up.
    """

    def __init__(self, goal: "Callable[[str], Target]", app: str = "", where: str = "") -> None:
        self._goal = goal
        self._app = app
        self._where = where

    def __iter__(self) -> Iterator[ScheduleSnapshot]:
        """All of them, by name."""
        return iter(self.list())

    def list(self) -> "list[ScheduleSnapshot]":
        """All of them, by name."""
        from soloist.store.agenda import read_agenda

        with self._reached("list") as (link, keys, _):
            return _seen(read_agenda(link, keys))

    def get(self, name: str) -> ScheduleSnapshot | None:
        return next((each for each in self.list() if each.name == name), None)

    def add(
        self,
        name: str,
        cron: str | None = None,
        *,
        kind: str,
        every: float | None = None,
        body: Any = "",
        tz: str = "UTC",
        jitter: float = 0.0,
        missed: Missed = "once",
        overlap: Overlap = "allow",
    ) -> bool:
        """Add a schedule, or change the one of this name; answers whether that was news.

        What differs only in what is published keeps its ticks; other times begin anew. What the App's code declares cannot
        be changed here.
        """
        from soloist.schedules.making import make_schedule, to_json
        from soloist.store.agenda import put_schedule

        where = self._where or f"app.schedules.add at {here()}"
        try:
            text = encode_body(body).decode()
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"{where}: {type(body).__name__} can be no body of a schedule: {error}.") from None
        made = make_schedule(
            where, name=name, kind=kind, cron=cron, every=every, tz=tz, jitter=jitter, missed=missed, overlap=overlap, body=text
        )  # fmt: skip
        with self._reached("add") as (link, keys, _):
            return put_schedule(link, keys, name, to_json(made))

    def remove(self, name: str) -> None:
        """Remove one that was added; runs that are published go on."""
        from soloist.store.agenda import put_schedule

        with self._reached("remove") as (link, keys, _):
            self._require(link, keys, name)
            put_schedule(link, keys, name, b"")

    def pause(self, *names: str) -> int:
        """Let their ticks go by; answers of how many that was news."""
        return self._switch(names, on=True)

    def resume(self, *names: str) -> int:
        """Go on with the next tick; those of the pause are not made up for."""
        return self._switch(names, on=False)

    def run(self, name: str) -> str:
        """Publish a run of it now, whatever its ticks are; answers the id of the message, whose `scheduled_for` is now."""
        from soloist.producer import Producer, Wanted
        from soloist.runtime.ticks import headers_of
        from soloist.store.agenda import now_ms

        with self._reached("run") as (link, keys, goal):
            (schedule,) = self._require(link, keys, name)
            settings = goal.settings
            producer = Producer(
                goal.server, goal.namespace, self._app, settings.max_pending, settings.call_timeout, PATIENCE
            )
            with closing(producer):
                body = schedule.body.encode()
                wanted = Wanted(schedule.kind, body, headers=headers_of(now_ms(link)), waits=f"run {name}")
                return producer.publish([wanted])[0]

    def _switch(self, names: "tuple[str, ...]", *, on: bool) -> int:
        from soloist.store.control import pause

        with self._reached("pause" if on else "resume") as (link, keys, _):
            self._require(link, keys, *names)
            return pause(link, keys, [], [f"schedule:{name}" for name in names], on=on)

    def _require(self, link: "Link", keys: "Keys", *names: str) -> "Sequence[Schedule]":
        from soloist.schedules.making import from_json
        from soloist.store.agenda import read_agenda

        stored = read_agenda(link, keys).schedules
        for name in names:
            if name not in stored:
                there = f"there are: {', '.join(sorted(stored))}" if stored else "there is none"
                raise UsageError(f"there is no schedule {name!r} in {keys.namespace!r}; {there}.")
        return [from_json(stored[name]) for name in names]

    def _reached(self, what: str) -> "Reached":
        return Reached(self._goal(f"schedules.{what}"), self._app)


class Reached:
    """A connection for one call."""

    def __init__(self, goal: "Target", app: str) -> None:
        from soloist.store.link import Link

        self._goal = goal
        self._app = app
        self._link = Link(goal.server, TIMEOUT)

    def __enter__(self) -> "tuple[Link, Keys, Target]":
        from soloist.store.guard import check_app
        from soloist.store.keys import Keys

        keys = Keys(self._goal.namespace)
        check_app(self._link, keys, self._app)
        return self._link, keys, self._goal

    def __exit__(self, *_: object) -> None:
        self._link.close()


def _seen(agenda: "Agenda") -> list[ScheduleSnapshot]:
    from soloist.schedules.making import from_json

    return [_one(agenda, from_json(json)) for _, json in sorted(agenda.schedules.items())]


def _one(agenda: "Agenda", schedule: Schedule) -> ScheduleSnapshot:
    from soloist.schedules.due import moment
    from soloist.schedules.times import Times

    name, runs = schedule.name, agenda.runs
    is_paused = f"schedule:{name}" in agenda.paused
    upcoming = None if is_paused else Times(schedule).after(agenda.ticks[name])
    took = runs.get(f"took {name}")
    last = runs.get(f"tick {name}")
    return ScheduleSnapshot(
        name=name,
        kind=schedule.kind,
        when=schedule.cron or f"every {schedule.every_ms / 1000:g} s",
        tz=schedule.tz,
        jitter=schedule.jitter_ms / 1000,
        missed=schedule.missed,
        overlap=schedule.overlap,
        body=schedule.body,
        origin=schedule.origin,
        paused=is_paused,
        next_run=None if upcoming is None else moment(schedule, upcoming) / 1000,
        last_run=None if last is None else int(last) / 1000,
        running=int(runs.get(f"running {name}", 0)),
        last_result=runs.get(f"result {name}"),
        last_seconds=None if took is None else int(took) / 1000,
        failures=int(runs.get(f"failures {name}", 0)),
        skipped=int(runs.get(f"skipped {name}", 0)),
    )
