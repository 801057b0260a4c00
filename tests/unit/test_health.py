"""What `status --check` finds: pure, from what was seen. Each finding, and the calm case right beside it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from soloist.health import NOT_CONSUMING, STALLED, findings
from soloist.inspector import (
    InstanceSnapshot,
    KindSnapshot,
    ServerSnapshot,
    Snapshot,
    SourceSnapshot,
    TermSnapshot,
)
from soloist.settings import Settings
from soloist.store.history import Sample

ONE = InstanceSnapshot(
    id="ann",
    number=1,
    role="generator",
    host="host",
    pid=17,
    generated=10,
    completed=0,
    failed=0,
    claimed=0,
    lease_ms=9_900,
    heard_ms=100,
    turn_ms=1_000_000,
    late_ms=0,
    kinds=["default"],
    doing=None,
    sources={},
)
TWO = replace(ONE, id="bob", number=2, role="handler", completed=9, failed=1, turn_ms=10)
WELL = Snapshot(
    namespace="shop",
    app="orders",
    published=12,
    pending=2,
    claimed=0,
    completed=9,
    failed=1,
    errors=1,
    reclaimed=0,
    superseded={},
    oldest_pending_ms=5,
    kinds={"default": KindSnapshot(2, 0, 9, 1, paused=False)},
    term=TermSnapshot(3, "ann", 60_000),
    vacant_ms=0,
    instances=[ONE, TWO],
    line=["bob"],
)
SERVER = ServerSnapshot(used_memory=10, max_memory=100, policy="noeviction")
LONG_MS = int(NOT_CONSUMING * 1000) + 1


def history(seconds: int, pending: Callable[[int], int], done: Callable[[int], int]) -> list[Sample]:
    return [
        Sample(1_000_000 + 1000 * second, 0, done(second), 1, 0, 0, pending(second), 0, 2) for second in range(seconds)
    ]


def codes(
    seen: Snapshot = WELL, samples: Sequence[Sample] = (), server: ServerSnapshot = SERVER, errors: int = 10
) -> list[str]:
    found = findings(seen, samples, server, Settings(), errors)
    assert all(finding.says and finding.remedy.endswith(".") for finding in found)
    return [finding.code for finding in found]


def with_two(**changes: Any) -> Snapshot:
    return replace(WELL, instances=[ONE, replace(TWO, **changes)])


def test_a_system_that_works_is_well() -> None:
    """And so is one that has just begun, or whose kinds are paused."""
    assert codes() == []
    assert codes(replace(WELL, term=None, vacant_ms=2_000)) == []


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (replace(WELL, published=13), "lost-or-doubled"),
        (replace(WELL, errors=11), "errors"),
        (replace(WELL, instances=[], term=None), "no-instance"),
        (replace(WELL, term=None, vacant_ms=2_400), "no-generator"),
        (replace(WELL, kinds={**WELL.kinds, "mail": KindSnapshot(1, 0, 0, 0, paused=False)}), "no-handler"),
        (with_two(late_ms=700), "heart-late"),
        (with_two(sources={"outbox": SourceSnapshot(9_000, "ValueError: no")}), "source-fails"),
        (with_two(sources={"outbox": SourceSnapshot(9_000, "")}), "source-late"),
        (replace(with_two(turn_ms=LONG_MS), oldest_pending_ms=LONG_MS), "not-consuming"),
    ],
)
def test_what_is_not_well_is_named(seen: Snapshot, code: str) -> None:
    assert codes(seen) == [code]


@pytest.mark.parametrize(
    "seen",
    [
        replace(with_two(turn_ms=LONG_MS, claimed=1), oldest_pending_ms=LONG_MS, claimed=1, pending=1),
        with_two(turn_ms=LONG_MS),
        replace(
            with_two(turn_ms=LONG_MS),
            oldest_pending_ms=LONG_MS,
            kinds={"default": KindSnapshot(2, 0, 9, 1, paused=True)},
        ),
    ],
    ids=["it works on a message", "nothing waits for long", "its kind is paused"],
)
def test_who_has_a_reason_to_ask_for_nothing_is_well(seen: Snapshot) -> None:
    assert codes(seen) == []


def test_messages_that_only_come_and_never_go_are_noticed() -> None:
    """A whole while without any completion, and more waiting than before."""
    stuck = history(STALLED + 1, pending=lambda second: second, done=lambda _: WELL.completed)

    assert codes(samples=stuck) == ["stalled"]
    assert codes(samples=stuck[:5]) == [], "too short a while"
    assert codes(samples=history(STALLED + 1, lambda second: second, lambda second: second)) == [], "some are completed"
    assert codes(samples=history(STALLED + 1, lambda _: 7, lambda _: WELL.completed)) == [], "no more are waiting"
    assert codes(replace(WELL, completed=10, pending=1), samples=stuck) == [], "one was completed just now"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"used_memory": 91}, "memory"),
        ({"evicts": True, "policy": "allkeys-lru"}, "evicting"),
        ({"evicted": 3}, "evicted"),
        ({"persists": False}, "not-persisting"),
        ({"persistence_fails": True}, "not-persisting"),
    ],
)
def test_a_server_that_would_lose_messages_is_named(changes: dict[str, Any], code: str) -> None:
    assert codes(server=replace(SERVER, **changes)) == [code]


def test_a_server_without_a_limit_is_never_full() -> None:
    assert codes(server=ServerSnapshot(used_memory=10**12)) == []
