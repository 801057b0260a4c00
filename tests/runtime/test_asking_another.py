"""A generator in trouble asks for its own succession: what it tells when the answer to that does not come."""

import threading
import time

import pytest

from soloist.errors import Unavailable
from soloist.runtime import generator as generator_module
from soloist.runtime import instance as instance_module
from soloist.store.control import Asked, handover
from soloist.store.keys import Keys
from soloist.store.link import Link
from tests.runtime.source_stage import Stage, app_of, start_beside
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks often, and as soon as its source has failed for a moment."""
    monkeypatch.setattr(instance_module, "ASK_AGAIN", 0.05)
    monkeypatch.setattr(generator_module, "FAILING", 0.2)


def test_a_lost_answer_hides_nothing(sources: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked by itself to step down, it did not hear that it was heard: its next beat says so, and it tells why."""
    outcomes: list[str] = []

    def heard_and_not_answered(link: Link, keys: Keys, term: int) -> Asked:
        outcomes.append(handover(link, keys, term).outcome)
        raise Unavailable("the answer was lost")

    monkeypatch.setattr(instance_module, "handover", heard_and_not_answered)

    def count() -> None:
        raise ValueError("my disk is broken")

    first, second = start_beside(sources, app_of(count))
    sources.wait_for(second, "elected")

    assert outcomes[-1] == "OK"
    [unfit] = sources.told(first, "unfit")
    assert unfit["term"] == 1
    assert "ValueError: my disk is broken" in unfit["reason"]
    assert first._stands_back_until - time.monotonic() > 10, "far longer than after a handover"


def test_who_is_asked_by_somebody_else_is_not_unfit(sources: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it had asked by itself before, in vain and unanswered, and is well since."""
    is_broken = threading.Event()
    is_broken.set()

    def not_even_heard(_link: Link, _keys: Keys, _term: int) -> Asked:
        raise Unavailable("it was never sent")

    monkeypatch.setattr(instance_module, "handover", not_even_heard)

    def count() -> str:
        if is_broken.is_set():
            raise ValueError("no")
        return "x"

    first, second = start_beside(sources, app_of(count))
    wait_until(lambda: first._unanswered, what="it has asked, and nobody answered")
    is_broken.clear()
    wait_until(lambda: first._unanswered is None, what="it is well again")
    sources.wait_for_successor()
    assert handover(sources.store.link, sources.store.keys).outcome == "OK"
    sources.wait_for(second, "elected")

    assert not sources.told(first, "unfit")
