"""The state of a namespace as tests read, compare and set it. Clocks are moved by rewriting what is stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.replies import Superseded, fields
from soloist.store.snapshot import Seen, snapshot
from tests.servers import Store

READERS: dict[bytes, tuple[str | int, ...]] = {
    b"string": ("GET",),
    b"hash": ("HGETALL",),
    b"list": ("LRANGE", 0, -1),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    b"stream": ("XRANGE", "-", "+"),
}


def dump(link: Link, keys: Keys) -> dict[str, Any]:
    """Every key of the namespace with all that it holds."""
    found: dict[str, Any] = {}
    for key in sorted(link.command("KEYS", "soloist:*")):
        name = key.decode()
        if name.startswith(keys.base):
            of_type = link.command("TYPE", key)
            command, *bounds = READERS[of_type]
            value = link.command(command, key, *bounds)
            if of_type in {b"hash", b"set"}:
                value = sorted(zip(value[::2], value[1::2], strict=True)) if of_type == b"hash" else sorted(value)
            found[name.removeprefix(keys.base)] = value
    return found


@contextmanager
def nothing_changes(store: Store) -> Iterator[None]:
    """Whatever happens inside leaves every key as it was, the log and the totals included."""
    before = dump(store.link, store.keys)
    yield
    assert dump(store.link, store.keys) == before


@contextmanager
def refused(store: Store, what: str, how: type[Superseded] = Superseded) -> Iterator[None]:
    """The call inside is answered SUPERSEDED; that is counted and logged once, and nothing else changes."""
    before, counted = dump(store.link, store.keys), total(store, f"superseded:{what}")
    with pytest.raises(Superseded) as refusal:
        yield
    assert refusal.type is how
    after = dump(store.link, store.keys)
    assert total(store, f"superseded:{what}") == counted + 1
    assert [fields(entry[1])["event"] for entry in after["log"][len(before["log"]) :]] == ["superseded"]
    assert _without_refusals(after) == _without_refusals(before)


def _without_refusals(state: dict[str, Any]) -> dict[str, Any]:
    totals = [pair for pair in state.get("totals", []) if not pair[0].startswith(b"superseded:")]
    return {key: value for key, value in state.items() if key not in {"log", "totals"}} | {"totals": totals}


def check_equation(store: Store) -> Seen:
    """Nothing is lost: published = waiting + claimed + completed + failed, in one atomic read, in all and per kind."""
    seen = snapshot(store.link, store.keys)
    totals = {name: int(value) for name, value in seen.totals.items()}
    waiting = sum(kind.waiting for kind in seen.kinds)
    claimed = sum(instance.holds for instance in seen.instances)
    finished = totals.get("completed", 0) + totals.get("failed", 0)
    assert totals.get("published", 0) == waiting + claimed + finished
    for what in ("published", "completed", "failed"):
        assert totals.get(what, 0) == sum(totals.get(f"{what}:{kind.name}", 0) for kind in seen.kinds)
    removed = totals.get("drained", 0) + totals.get("discarded", 0)
    assert seen.errors + seen.draining + removed == totals.get("failed", 0)
    return seen


def now_ms(store: Store) -> int:
    seconds, micros = store.link.command("TIME")
    return int(seconds) * 1000 + int(micros) // 1000


def total(store: Store, name: str) -> int:
    return int(store.link.command("HGET", store.keys.totals, name) or 0)


def hash_of(store: Store, key: str) -> dict[str, str]:
    return fields(store.link.command("HGETALL", key))


def term_of(store: Store) -> dict[str, str]:
    return hash_of(store, store.keys.term)


def term_ended(store: Store, ms_ago: int = 1) -> None:
    """The deadline of the term has passed."""
    store.link.command("HSET", store.keys.term, "deadline", now_ms(store) - ms_ago)


def waiting(store: Store, where: str, kind: str = "default") -> list[str]:
    """The ids that wait in `pending`, `again` or `suspect`, the head first."""
    return [
        envelope.split()[0].decode()
        for envelope in store.link.command("LRANGE", f"{store.keys.base}{where}:{kind}", 0, -1)
    ]


def numbers(ids: list[str]) -> list[int]:
    """The sequence numbers of ids."""
    return [int(message_id.partition("-")[0]) for message_id in ids]


def tokens(store: Store, kind: str = "default") -> int:
    """How many tokens are in the bell."""
    return int(store.link.command("LLEN", store.keys.bell(kind)))


def silence(store: Store, kind: str = "default") -> None:
    """Somebody took the token from the bell."""
    store.link.command("DEL", store.keys.bell(kind))


def pause(store: Store, kind: str = "default") -> None:
    store.link.command("HSET", store.keys.paused, f"kind:{kind}", 1)


def attempts_of(store: Store, message_id: str) -> tuple[int, ...] | None:
    """Deaths, retries, suspect since, asked to hold until; None if it has none of them."""
    entry = store.link.command("HGET", store.keys.attempts, message_id)
    return tuple(int(part) for part in entry.split()) if entry else None


def suspect_for(store: Store, message_id: str, ms: int, *, hold: int = 0) -> None:
    """It has waited for so long as a suspect of poison; `hold`: somebody is asked to make room until then."""
    deaths, retries, _, _ = store.link.command("HGET", store.keys.attempts, message_id).split()
    entry = f"{deaths.decode()} {retries.decode()} {now_ms(store) - ms} {hold}"
    store.link.command("HSET", store.keys.attempts, message_id, entry)


def logged(store: Store, event: str) -> list[dict[str, str]]:
    """The entries of the common log of that event, oldest first."""
    entries = [fields(entry[1]) for entry in store.link.command("XRANGE", store.keys.log, "-", "+")]
    return [entry for entry in entries if entry["event"] == event]


@contextmanager
def full_memory(store: Store) -> Iterator[None]:
    """The server may use no more memory at all."""
    store.link.command("CONFIG", "SET", "maxmemory", 1)
    try:
        yield
    finally:
        store.link.command("CONFIG", "SET", "maxmemory", 0)
