"""What is told is told on a thread of its own."""

import threading

import pytest

from soloist.cli.account import Account, Told, sentence
from soloist.errors import OutputError
from soloist.events import Event


def event(name: str, total: int = 0) -> Event:
    return Event(name, 0, 1, "id", {"total": total})


def test_a_reader_that_does_not_read_holds_up_nobody_and_misses_no_transition() -> None:
    """A heart that waited for a terminal would be taken for dead. Older totals make room for newer ones."""
    may_read, heard = threading.Event(), list[Event]()

    def slow(told: Event) -> None:
        may_read.wait(30)
        heard.append(told)

    told = Told(slow)
    told(event("joined"))
    for total in range(100):
        told(event("handled", total))
    told(event("left"))

    may_read.set()
    told.finish()

    assert heard[0].event == "joined"
    assert heard[-1].event == "left"
    assert len(heard) <= 4
    assert [each.fields["total"] for each in heard if each.event == "handled"][-1] == 99


def test_an_output_that_cannot_be_written_asks_to_stop_once() -> None:
    asked = list[int]()

    def broken(_: Event) -> None:
        raise OutputError("full")

    told = Told(broken)
    told.on_closed = lambda: asked.append(1)
    told(event("joined"))
    told(event("left"))
    told.finish()

    assert asked == [1]
    assert isinstance(told.failure, OutputError)


def test_who_leaves_the_part_to_another_says_why() -> None:
    """For people; events have it as a field."""
    said = sentence("unfit", {"reason": "source outbox took longer than 30 s", "term": 3})

    assert said == "leaves the generator's part to another instance: source outbox took longer than 30 s"


def test_one_that_has_to_be_started_anew_says_why() -> None:
    said = sentence("stuck", {"reason": "the handler work (shop.py, line 3) has not returned for 12 s"})

    assert said == "the handler work (shop.py, line 3) has not returned for 12 s: leaves, to be started anew"


def test_who_left_the_part_to_another_is_a_handler(capsys: pytest.CaptureFixture[str]) -> None:
    """Also in the line of totals: it would call itself the generator for as long as it lives."""
    account = Account()
    for name, fields in (
        ("elected", {"term": 3, "takeover_ms": 0}),
        ("unfit", {"term": 3, "reason": "source outbox took longer than 30 s"}),
        ("handled", {"total": 7, "errors": 1}),
    ):
        account(Event(name, 0, 1, "id", fields))

    assert capsys.readouterr().out.splitlines()[-1] == "handler: handled 7, of them 1 erroneous"
