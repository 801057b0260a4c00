"""runtime/ticks.py: ticks as messages."""

import json

from soloist.message import Message
from soloist.runtime.ticks import TickSheet
from soloist.schedules.making import make_schedule
from soloist.store.envelope import unpack

NOON = 1_800_000_000_000
SCHEDULE = make_schedule("here", name="nightly", kind="reports", cron="0 3 * * *", body="für alle")


def test_each_tick_is_a_message_of_its_own() -> None:
    """Numbered in their order; its key is that of the tick, its header says which it is."""
    sheet = TickSheet(SCHEDULE, [NOON, NOON + 1500])

    packed = sheet.envelopes(7, "tag", NOON + 2000)
    first, second = (unpack(each) for each in packed["reports"])

    assert list(packed) == ["reports"]
    assert (first.id, first.key, first.body) == ("7-tag", "nightly@2027-01-15T08:00:00Z", "für alle".encode())
    assert (second.id, second.key) == ("8-tag", "nightly@2027-01-15T08:00:01.500Z")
    assert [json.loads(each.headers) for each in (first, second)] == [
        {"scheduled_for": NOON},
        {"scheduled_for": NOON + 1500},
    ]
    assert first.published_at == NOON + 2000


def test_without_a_tick_there_is_no_message() -> None:
    """It only says which are passed over."""
    assert TickSheet(SCHEDULE, []).envelopes(7, "tag", NOON) == {}
    assert TickSheet(SCHEDULE, []).many == 0


def test_a_message_says_which_tick_it_is_of() -> None:
    """In seconds; one that no schedule published is of none."""
    (envelope,) = TickSheet(SCHEDULE, [NOON + 1500]).envelopes(1, "tag", NOON)["reports"]

    assert Message(envelope).scheduled_for == NOON / 1000 + 1.5
    assert Message.fake().scheduled_for is None
