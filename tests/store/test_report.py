"""report.lua: what an instance says of itself stands in its own hash, and only while it has a place."""

from soloist.store.report import Doing, Report, SourceTrouble, from_text, report, to_text
from tests.servers import Store
from tests.store.acting import Instance, Joins
from tests.store.state import hash_of, nothing_changes


def say(instance: Instance, text: str, number: int = 1) -> None:
    report(instance.store.link, instance.store.keys, instance.id, number, text)


def test_a_report_is_kept_and_taken_back(store: Store, joined: Joins) -> None:
    """Nothing to say is nothing stored."""
    instance = joined()
    said = Report(Doing("7-tag", 5, "at line 3"), 700, {"outbox": SourceTrouble(9, "ValueError: no")})

    say(instance, to_text(said))
    assert from_text(hash_of(store, store.keys.instance(instance.id))["report"]) == said

    say(instance, to_text(Report()), number=2)
    assert "report" not in hash_of(store, store.keys.instance(instance.id))


def test_a_late_copy_of_an_older_report_does_nothing(store: Store, joined: Joins) -> None:
    """Else it would stand there until the instance has something else to say."""
    instance = joined()
    say(instance, to_text(Report(late_ms=700)), number=1)
    say(instance, "", number=2)

    with nothing_changes(store):
        say(instance, to_text(Report(late_ms=700)), number=1)
    with nothing_changes(store):
        say(instance, "", number=2)


def test_who_is_gone_says_nothing(store: Store, joined: Joins) -> None:
    """A hash without a presence would never be removed."""
    instance = joined()
    instance.leave()

    with nothing_changes(store):
        say(instance, "{}")


def test_what_cannot_be_read_says_nothing() -> None:
    """Of another version, or not ours."""
    assert from_text("{") == Report()
    assert from_text("") == Report()
    assert from_text('{"late_ms": 3, "more": 1}') == Report(late_ms=3)
