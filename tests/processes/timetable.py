"""An App of twenty schedules at one second, of every sort, whose runs write down which tick they are of.

Each run writes one line into a list in Redis, in the step that completes it; one that fails leaves its record in the error
store. So what stands there is what was completed or failed, whatever was killed.
"""

import time
from itertools import product

from soloist import App, Message, Reject
from soloist.schedules.schedule import Missed, Overlap

PERIOD_MS = 1000
LONG_RUN = 1.3
"""Seconds: longer than the distance of two ticks, so that the next one finds it at work."""

MISSED: tuple[Missed, ...] = ("skip", "once", "all")
OVERLAP: tuple[Overlap, ...] = ("allow", "skip", "queue")

app = App("timetable")


def second_of(message: Message) -> int:
    assert message.scheduled_for is not None
    return round(message.scheduled_for)


def note(message: Message) -> None:
    name, tick = message.kind.removeprefix("schedule:"), round(1000 * (message.scheduled_for or 0))
    message.commit.rpush(message.key_for("runs"), f"{name} {tick} {message.id} {round(message.published_at * 1000)}")


def run(message: Message) -> None:
    """One in thirteen fails; and where runs must not be side by side, one in seven is still at work at the next tick."""
    second, schedule = second_of(message), app.jobs[message.kind.removeprefix("schedule:")]
    if schedule.overlap != "allow" and second % 7 == 0:
        time.sleep(LONG_RUN)
    if second % 13 == 0:
        raise Reject("a run that fails")
    note(message)


def declare(name: str, missed: Missed, overlap: Overlap, cron: str | None, jitter: float) -> None:
    every = None if cron else PERIOD_MS / 1000
    app.schedule(cron, every=every, name=name, missed=missed, overlap=overlap, jitter=jitter)(run)


for number, (missed, overlap, how) in enumerate(product(MISSED, OVERLAP, ("every", "cron"))):
    jitter = 0.9 if number % 3 == 0 else 0.0  # so that there is always something due, not only once a second
    declare(f"{missed}-{overlap}-{how}", missed, overlap, "* * * * * *" if how == "cron" else None, jitter)
for number in range(2):
    declare(f"late-{number}", "all", "allow", "* * * * * *" if number else None, 0.9)
