"""@app.schedule: what it declares, and each wrong argument a sentence with the function, its file and line."""

from typing import Any

import pytest

from soloist import App, Message
from soloist.errors import UsageError

HERE = r"job \(test_scheduled\.py, line \d+\)"


def job(message: Message) -> None: ...


def test_it_declares_a_schedule_and_its_handler() -> None:
    """Under the function's name; the function stays as it is."""
    app = App("shop")

    assert app.schedule("0 3 * * *", tz="Europe/Berlin", missed="all", timeout=60, retries=2)(job) is job

    made, handler = app.jobs["job"], app.handlers["schedule:job"]
    assert (made.kind, made.cron, made.tz, made.missed, made.origin) == (
        "schedule:job", "0 3 * * *", "Europe/Berlin", "all", "code",
    )  # fmt: skip
    assert (handler.timeout, handler.retries) == (60, 2)
    app.check()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, r": say when in one way: a cron expression"),
        ({"cron": "* * * * *", "every": 1}, r": say when in one way"),
        ({"cron": "x"}, r": 'x' is no cron expression: write minute, hour"),
        ({"cron": "61 * * * *"}, r": '61 \* \* \* \*' is no cron expression"),
        ({"cron": "0 0 30 2 *"}, r"'0 0 30 2 \*' (never comes|is no cron expression)"),
        ({"cron": 5}, r": 5 is no cron expression"),
        ({"every": 0}, r": every=0 is not possible; write 0\.01 to"),
        ({"every": -1}, r": every=-1 is not possible"),
        ({"every": "1"}, r": every='1' is not possible"),
        ({"every": True}, r": every=True is not possible"),
        ({"every": float("nan")}, r": every=nan is not possible"),
        ({"every": 1e9}, r": every=1000000000\.0 is not possible"),
        ({"every": 1, "tz": "Berlin"}, r": tz='Berlin' is no time zone; write one as \"Europe/Berlin\""),
        ({"every": 1, "tz": None}, r": tz=None is no time zone"),
        ({"every": 1, "jitter": -1}, r": jitter=-1 is not possible"),
        ({"every": 1, "jitter": "1"}, r": jitter='1' is not possible"),
        ({"every": 1, "missed": "never"}, r": missed='never' is not possible; write skip, once, all"),
        ({"every": 1, "missed": []}, r": missed=\[\] is not possible"),
        ({"every": 1, "overlap": "wait"}, r": overlap='wait' is not possible; write allow, skip, queue"),
        ({"every": 1, "name": "two words"}, r": a name is 1 to 128 .*not 'two words'"),
        ({"every": 1, "name": ""}, r": a name is 1 to 128 .*not ''"),
        ({"every": 1, "name": 5}, r": a name is 1 to 128 .*not 5"),
        ({"every": 1, "name": "x" * 125}, r": a (name|kind) is 1 to 128"),
        ({"every": 1, "timeout": -1}, r"timeout=-1"),
        ({"every": 1, "retries": -1}, r"retries=-1"),
        ({"every": 1, "backoff": -1}, r"backoff=-1"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_with_its_place(given: dict[str, Any], says: str) -> None:
    """And nothing is declared."""
    app = App("shop")
    cron = [given.pop("cron")] if "cron" in given else []

    with pytest.raises(UsageError, match=HERE) as refused:
        app.schedule(*cron, **given)(job)

    assert refused.match(says)
    assert not app.jobs
    assert not app.handlers


def test_without_parentheses_it_says_what_to_write() -> None:
    with pytest.raises(UsageError, match=rf'{HERE}: write @app\.schedule\("0 3 \* \* \*"\) or'):
        App("shop").schedule(job)  # type: ignore[arg-type]


def test_what_has_no_name_needs_one() -> None:
    with pytest.raises(UsageError, match=r"test_scheduled\.py, line \d+\): a name is 1 to 128 .*not '<lambda>'"):
        App("shop").schedule(every=1)(lambda: None)


def test_only_functions_are_scheduled() -> None:
    with pytest.raises(UsageError, match=r"test_scheduled\.py, line \d+"):
        App("shop").schedule(every=1)(5)  # type: ignore[type-var]


def test_a_function_that_wants_what_nothing_gives_it_is_refused() -> None:
    def wanting(message: Message, database: str) -> None: ...

    with pytest.raises(UsageError, match=r"wanting \(test_scheduled\.py, line \d+\) wants the parameter 'database'"):
        App("shop").schedule(every=1)(wanting)


def test_two_of_a_name_are_refused_with_the_places_of_both() -> None:
    app = App("shop")
    app.schedule(every=1)(job)

    with pytest.raises(UsageError, match=rf"has a handler for 'schedule:job' already: {HERE}; <lambda> \(test_sch"):
        app.schedule(every=2, name="job")(lambda _: None)

    assert app.jobs["job"].every_ms == 1000
