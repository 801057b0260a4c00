"""outstanding.lua, elapse.lua, vouch.lua and retime.lua: what the kit for tests asks, and time by hand."""

from collections.abc import Callable
from contextlib import closing

import pytest

from soloist.store.agenda import put_schedule, read_agenda
from soloist.store.link import Link
from soloist.store.rehearsal import KindLeft, elapse, outstanding, read_data, retime, vouch
from soloist.store.submissions import SpecialMessage, SubmitCall, enlist, submit
from tests.servers import Store
from tests.store.acting import Instance
from tests.store.state import hash_of, now_ms

KINDS = ("mail", "order")


def publish(store: Store, kind: str, *delays_ms: int) -> None:
    """A message for each delay, 0 for none."""
    producer = f"producer-{kind}"
    enlist(store.link, store.keys, producer, "demo")
    specials = [SpecialMessage(place, delay_ms=delay) for place, delay in enumerate(delays_ms, 1)]
    envelopes = {kind: [f"{place}-{kind} {kind} 1 0 0 0 ".encode() for place in range(1, len(delays_ms) + 1)]}
    submit(store.link, store.keys, producer, 1000, SubmitCall(1, envelopes, specials))


def test_what_is_outstanding_is_told_kind_by_kind(store: Store) -> None:
    """What is due or at once is open, what is delayed is counted apart, with the time at which the first of it is due."""
    before = now_ms(store)
    publish(store, "order", 0, 0, 50_000)
    publish(store, "mail", 20_000)

    found = outstanding(store.link, store.keys)

    assert found.kinds == {"mail": KindLeft(0, 1), "order": KindLeft(2, 1)}
    assert before + 20_000 <= found.due_ms <= found.now_ms + 20_000
    for known in (("order",), KINDS):  # with others it is asked once more
        assert outstanding(store.link, store.keys, known).kinds == found.kinds


def test_nothing_is_outstanding_where_nothing_is(store: Store) -> None:
    """No kinds, and no time."""
    found = outstanding(store.link, store.keys)

    assert (found.kinds, found.due_ms) == ({}, 0)


def test_what_elapses_makes_what_is_delayed_due_sooner(store: Store) -> None:
    """All of it by the same time; what is due then is open at once."""
    publish(store, "order", 50_000, 20_000)

    elapse(store.link, store.keys, ["order"], 30_000)

    found = outstanding(store.link, store.keys)
    assert found.kinds == {"order": KindLeft(1, 1)}
    assert 0 < found.due_ms - found.now_ms <= 20_000


def test_who_is_vouched_for_has_been_there_for_longer(store: Store, joined: Callable[[], Instance]) -> None:
    """If it has a will: without one it may not judge by wills."""
    ann = joined()
    ann.beat()
    assert not vouch(store.link, store.keys, ann.id, 1000)

    ann.subscribe()
    ann.beat()
    before = hash_of(store, store.keys.instance(ann.id))
    assert vouch(store.link, store.keys, ann.id, 1000)

    after = hash_of(store, store.keys.instance(ann.id))
    for field in ("since", "will_since"):
        assert int(before[field]) - int(after[field]) == 1000
    assert not vouch(store.link, store.keys, "nobody", 1000)
    assert hash_of(store, store.keys.instance("nobody")) == {}


def test_the_ticks_of_schedules_are_set(store: Store, generator: Instance) -> None:
    """Of those that are there; and whoever generates is told."""
    put_schedule(store.link, store.keys, "it", b'{"every_ms":1000}')
    before = read_agenda(store.link, store.keys)

    version = retime(store.link, store.keys, ["it", "nobody"], 77)

    after = read_agenda(store.link, store.keys)
    assert after.ticks == {"it": 77}
    assert after.version == version > before.version
    assert "tick:schedule:nobody" not in hash_of(store, store.keys.term)


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (("SET", "text"), "text"),
        (("HSET", "n", "1"), {"n": "1"}),
        (("RPUSH", "a", "b"), ["a", "b"]),
        (("SADD", "a", "b"), {"a", "b"}),
        (("ZADD", "1.5", "a"), {"a": 1.5}),
    ],
)
def test_what_users_wrote_is_read_as_python_has_it(store: Store, words: tuple[str, ...], read: object) -> None:
    """Whatever type it is of."""
    assert read_data(store.link, store.keys, "it") is None
    with closing(Link(store.server, timeout=5)) as link:
        link.command(words[0], f"{store.keys.base}data:it", *words[1:])

    assert read_data(store.link, store.keys, "it") == read
