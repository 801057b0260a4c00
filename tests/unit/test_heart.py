"""The heart's own part: when it beats next, whatever the answer knew."""

from types import SimpleNamespace
from typing import Any

import pytest

from soloist.runtime import heartbeat
from soloist.runtime.heartbeat import Heart
from soloist.runtime.notes import Notes
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.presence import Heard
from soloist.store.server import Server

SETTINGS = Settings()


@pytest.mark.parametrize(
    ("is_busy", "answered_ms", "waits"),
    [(False, 9000, 9.0), (True, 9000, SETTINGS.heartbeat), (True, 20, 0.02)],
)
def test_who_holds_a_message_by_the_time_of_the_answer_beats_within_a_heartbeat(
    monkeypatch: pytest.MonkeyPatch, is_busy: bool, answered_ms: int, waits: float
) -> None:
    """What was claimed while the beat was on its way is not known to its answer."""
    body: Any = SimpleNamespace(
        server=Server("redis://127.0.0.1:1/0"),
        keys=Keys("test"),
        settings=SETTINGS,
        incarnation=SimpleNamespace(who=None, id="ann"),
        played=0,
        may_generate=False,
        is_busy=False,
        is_sound=True,
        outage=SimpleNamespace(ended=lambda _: None),
        clock=SimpleNamespace(heard=lambda *_: None),
        known=lambda _: (0, ""),
        heard=lambda *_: None,
        report=lambda: "",
    )

    def answer(*_: Any, **__: Any) -> Heard:
        body.is_busy = is_busy
        return Heard(1, "handler", 0, answered_ms, 1, [], None)

    monkeypatch.setattr(heartbeat, "beat", answer)
    monkeypatch.setattr(Notes, "take", lambda *_: None)

    assert Heart(body, lambda function: function)._beat() == waits
