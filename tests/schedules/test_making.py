"""schedules/making.py: what is wrong with a schedule is said, with what to write."""

from typing import Any

import pytest

from soloist.errors import UsageError
from soloist.schedules.making import from_json, is_of_code, make_schedule, to_json


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "say when in one way"),
        ({"cron": "* * * * *", "every": 1}, "say when in one way"),
        ({"cron": "61 * * * *"}, "Bad minute"),
        ({"cron": "* * * *"}, "with seconds in front"),
        ({"cron": 5}, "is no cron expression"),
        ({"cron": "@daily"}, "is no cron expression"),
        ({"cron": "0 0 30 2 *"}, "Bad day-of-month"),
        ({"every": 0}, "every=0 is not possible"),
        ({"every": True}, "every=True is not possible"),
        ({"every": float("nan")}, "every=nan is not possible"),
        ({"every": 1, "tz": "Mars/Olympus"}, "Europe/Berlin"),
        ({"every": 1, "tz": None}, "no time zone"),
        ({"every": 1, "jitter": -1}, "jitter=-1 is not possible"),
        ({"every": 60, "jitter": 61}, "longer than the 60 s between two ticks"),
        ({"cron": "*/5 * * * *", "jitter": 301}, "longer than the 300 s between two ticks"),
        ({"every": 1, "missed": "never"}, "write skip, once, all"),
        ({"every": 1, "overlap": "perhaps"}, "write allow, skip, queue"),
        ({"every": 1, "name": "a b"}, "a name is 1 to 128"),
        ({"every": 1, "kind": ""}, "a kind is 1 to 128"),
        ({"every": 1, "body": "x" * (2**20 + 1)}, "too large"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        make_schedule("jobs.py, line 3", **{"name": "it", "kind": "it", **given})
    assert str(refused.value).startswith("jobs.py, line 3: ")


def test_it_is_stored_and_read_again() -> None:
    made = make_schedule(
        "here", name="nightly", kind="reports", cron=" 0  3 * * * ", tz="Europe/Berlin", jitter=1.5, missed="all",
        overlap="skip", body="{}", origin="code",
    )  # fmt: skip
    assert made.cron == "0 3 * * *"
    assert from_json(to_json(made).decode()) == made


STRANGE = {
    "nothing": "",
    "no JSON": "{",
    "a list": "[]",
    "no text": '{"name": 5}',
    "neither cron nor distance": '{"name": "a", "kind": "b"}',
    "both": '{"name": "a", "kind": "b", "cron": "* * * * *", "every_ms": 1000}',
    "a distance of nothing": '{"name": "a", "kind": "b", "every_ms": 0}',
    "a distance that goes back": '{"name": "a", "kind": "b", "every_ms": -1000}',
    "cron": '{"name": "a", "kind": "b", "cron": "x"}',
    "time zone": '{"name": "a", "kind": "b", "every_ms": 1000, "tz": "c"}',
    "jitter": '{"name": "a", "kind": "b", "every_ms": 1000, "jitter_ms": -1}',
    "missed": '{"name": "a", "kind": "b", "every_ms": 1000, "missed": "never"}',
    "kind": '{"name": "a", "kind": "two words", "every_ms": 1000}',
    "name": '{"name": "", "kind": "b", "every_ms": 1000}',
    "half a letter": '{"name": "\udcff", "kind": "b", "every_ms": 1000}',
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_somebody_else_wrote_is_refused(what: str) -> None:
    """With all that is checked where one is made: no other part need be prepared for it."""
    with pytest.raises(UsageError, match="the stored schedule"):
        from_json(STRANGE[what])
    assert not is_of_code(STRANGE[what])
