"""Apps for the tests of schedules, publishing and pauses. What they do is written into the ledger of the test."""

from soloist import App, Message, Reject
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


@scheduled.handler("relay")
def relay(message: Message) -> None:
    scheduled.publish("mail", message.body, key="relayed")


@scheduled.handler("slow")
def slow(message: Message) -> None:
    note("slow", message.body)
    wait_for("gate")


older, newer = App("deployed"), App("deployed")
"""Two versions of one App: the newer one schedules a job. Every message fails, so it ends in the error store under its number."""


@older.generator(every=0.01)
@newer.generator(every=0.01)
def draw() -> str:
    return "a lot"


@newer.schedule(every=0.1)
@older.handler
@newer.handler
def reject(message: Message) -> None:
    raise Reject("as always")
