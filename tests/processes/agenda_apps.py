"""Apps for the tests of schedules, publishing and pauses. What they do is written into the ledger of the test."""

from soloist import App, Message
from tests.processes.apps import note, wait_for

scheduled = App("scheduled")
"""Two jobs of its own, and a kind for what is scheduled or published from outside."""


@scheduled.source(every=0.05)
def pulse() -> None:
    note("pulse")


@scheduled.schedule(every=0.2, missed="all")
def often(message: Message) -> None:
    note("often", message.scheduled_for)


@scheduled.schedule("0 0 1 1 *", tz="Europe/Berlin")
def yearly(message: Message) -> None:
    note("yearly", message.scheduled_for)
    raise ValueError("not yet")


@scheduled.handler("mail")
def mail(message: Message) -> None:
    note("mail", message.body, message.key)


@scheduled.handler("slow")
def slow(message: Message) -> None:
    note("slow", message.body)
    wait_for("gate")
