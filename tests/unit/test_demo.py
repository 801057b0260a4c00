"""demo.py: the default application, which is the assignment."""

import random
import re

import pytest

from soloist import demo
from soloist.app import App
from soloist.errors import Reject
from soloist.message import Message
from soloist.store.envelope import pack

A_MESSAGE = Message(pack("1-tag", "default", 0, b"text"))


def fails_at(chance: float, app: App, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the handler finds a message erroneous when chance has it so."""
    monkeypatch.setattr(random, "random", lambda: chance)
    try:
        app.handlers["default"].fit.function(A_MESSAGE)
    except Reject:
        return True
    return False


def test_every_text_there_can_be_has_80_to_100_characters() -> None:
    """All of them are looked at, not a sample."""
    lengths = {end - start for start, end in demo._STRETCHES}

    assert min(lengths) == 80
    assert max(lengths) == 100


def test_every_text_is_readable() -> None:
    """Whole words of a few letters with one blank between them: nothing is cut, nothing needs escaping."""
    text = f" {demo._TEXT} "

    for start, end in demo._STRETCHES:
        assert re.fullmatch(r"[a-z]{2,11}( [a-z]{2,11})+", demo._TEXT[start:end])
        assert (text[start], text[end + 1]) == (" ", " ")


def test_the_texts_are_distinct() -> None:
    """Thousands of them: a message can be told from its neighbours."""
    texts = {demo._TEXT[start:end] for start, end in demo._STRETCHES}

    assert len(texts) == len(demo._STRETCHES) > 5_000


def test_a_random_text_is_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first to the last, as chance has it."""
    for chance, (start, end) in [(0.0, demo._STRETCHES[0]), (1 - 2**-53, demo._STRETCHES[-1])]:
        monkeypatch.setattr(demo, "_random", lambda chance=chance: chance)
        assert demo.random_text() == demo._TEXT[start:end]


def test_random_texts_vary() -> None:
    """A hundred draws of some thousands hardly ever repeat: 20 repeats do not happen."""
    assert len({demo.random_text() for _ in range(100)}) > 80


def test_it_generates_a_text_every_500_ms() -> None:
    """The assignment's numbers are the defaults."""
    (source,) = demo.build().sources

    assert source.every == 0.5
    assert 80 <= len(source.fit.function()) <= 100


def test_another_interval_is_taken() -> None:
    """0 is as fast as it goes."""
    assert demo.build(interval=0).sources[0].every == 0


def test_one_message_in_twenty_is_found_erroneous(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chance of 5 %."""
    app = demo.build()

    assert fails_at(0.0, app, monkeypatch)
    assert fails_at(0.049_999, app, monkeypatch)
    assert not fails_at(0.05, app, monkeypatch)
    assert not fails_at(0.999_999, app, monkeypatch)


@pytest.mark.parametrize(("rate", "fails", "passes"), [(0.5, 0.499, 0.5), (1, 1 - 2**-53, None), (0, None, 0.0)])
def test_another_error_rate_is_taken(
    rate: float, fails: float | None, passes: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 is every message, 0 is none."""
    app = demo.build(error_rate=rate)

    assert fails is None or fails_at(fails, app, monkeypatch)
    assert passes is None or not fails_at(passes, app, monkeypatch)


def test_its_generator_does_not_handle() -> None:
    """All the others are handlers (M2)."""
    assert not demo.build().generator_handles


def test_it_is_called_demo() -> None:
    """Its namespace, too."""
    assert demo.build().name == "demo"
