"""Somebody else's data under our names: every script meets it before it writes anything, and leaves all as it was."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pytest

from soloist.errors import ForeignData
from soloist.store import (
    agenda,
    archive,
    control,
    foreign,
    history,
    messages,
    presence,
    records,
    rehearsal,
    report,
    sending,
    submissions,
)
from soloist.store.envelope import pack
from soloist.store.keys import OF_KIND, TYPES, Keys
from soloist.store.messages import TurnCall, Write
from soloist.store.script import Script
from tests.lua_source import Script as LuaScript
from tests.lua_source import scripts
from tests.servers import Store
from tests.store.acting import DETAILS, Instance, ids
from tests.store.committing import followup, key
from tests.store.state import dump, nothing_changes
from tests.turns import Done

THEIRS = "theirs"
READ_ONLY = {"snapshot", "survey", "agenda", "outstanding", "peek", "inventory", "extract"}
"""They write nothing, so they may stumble anywhere."""

REMOVES = "purge"
"""It removes whatever is there."""


SUBMISSION = submissions.SubmitCall(
    1,
    {"default": [pack(f"{number}-eve", "default", 1, b"x") for number in range(1, 4)]},
    [submissions.SpecialMessage(1, waits="unique b"), submissions.SpecialMessage(2, 60, waits="run nightly")],
)
"""Of everything that a producer may ask for."""


def imported(keys: Keys) -> archive.Lines:
    """Lines that write into a key of each type."""
    lines = archive.Lines(first=1, count=4)
    lines.put(keys.kinds, "set", "default")
    lines.put(keys.pending("default"), "list", pack("1-eve", "default", 1, b"x"))
    lines.put(keys.errors, "hash", "2-eve", "why")
    lines.put(keys.errors_by_time, "zset", 5, "2-eve")
    return lines


LATER = submissions.SubmitCall(
    1, {"default": [pack("1-bob", "default", 1, b"x")]}, [submissions.SpecialMessage(1, delay_ms=60_000)]
)


class Stage:
    """A namespace at work, in which every script has something to write; and its next call, not yet made."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.generator, self.handler = Instance(store), Instance(store)
        self.gone, self.newcomer = Instance(store), Instance(store)
        self.drainer, self.other_drainer = Instance(store, drains=True), Instance(store, drains=True)
        for instance in (self.generator, self.handler, self.gone, self.drainer, self.other_drainer):
            instance.join()
        self.generator.beat()
        self.handler.beat()
        self.generator.publish(20)
        self.claimed = ids(self.handler.next(want=5))
        store.link.command("HSET", store.keys.tracked, self.claimed[0], "unique default a")
        store.link.command("HSET", store.keys.unique, "default a", self.claimed[0])
        agenda.put_schedule(store.link, store.keys, "nightly", b'{"every_ms": 5}')
        for producer in ("eve", "bob"):
            submissions.enlist(store.link, store.keys, producer, "")
        submissions.submit(store.link, store.keys, "bob", 100, LATER)
        self.empty = Keys(f"{store.keys.namespace}}}:empty{{")  # under the same name, so that it is looked at, too
        store.link.command("HSET", store.keys.meta, "import", "digest", "lines", 0)
        self.gone.next(want=2)
        self.generator.next(failed=ids(self.generator.next(want=4)))
        self.drained = self.drainer.drain(limit=1).records
        self.other_drainer.marked_for(1)  # any call of its own clears the mark: the first thing that is written
        self.gone.lease_ended()
        self.generator.becomes_judge()
        self.handler.subscribed_for(5)
        self.failures = [(each.id, each.failed_us) for each in chain(*records.pages(store.link, store.keys))]

    def calls(self) -> dict[str, Callable[[], object]]:
        link, keys, settings = self.store.link, self.store.keys, self.store.settings
        generator, handler = self.generator, self.handler
        one, two, three, four, five = self.claimed
        asked = ([Write("incrby", key(self.store), (1,))], [followup("default", "1-on")])
        done = Done(5, [one], [(two, DETAILS)], [three], [(four, 0)], [(five, *asked)])
        turn = handler.turn_call_of({"default": done})
        assert generator.term is not None
        term = generator.term.number
        return {
            "join": lambda: presence.join(link, keys, self.newcomer.who, settings),
            "beat": lambda: presence.beat(
                link, keys, generator.who, settings, term=term, may_generate=True, busy=False, will=0, tag="tag"
            ),
            "publish": lambda: messages.publish(link, keys, generator.id, settings, generator.page(3)),
            "next": lambda: messages.next_turn(link, keys, handler.id, settings, turn),
            "leave": lambda: presence.leave(link, keys, handler.id, settings, ["default"]),
            "reclaim": lambda: presence.reclaim(link, keys, self.gone.id, generator.id, settings, ["default"]),
            "drain": lambda: records.drain(link, keys, self.other_drainer.id, 9),
            "confirm": lambda: records.confirm(link, keys, self.drainer.id, [each.id for each in self.drained]),
            "requeue": lambda: records.requeue(link, keys, self.failures, ["default"]),
            "discard": lambda: records.discard(link, keys, self.failures),
            "pause": lambda: control.pause(link, keys, ["default"], ["schedule:nightly"], on=True),
            "enlist": lambda: submissions.enlist(link, keys, "adam", ""),
            "submit": lambda: submissions.submit(link, keys, "eve", 1000, SUBMISSION),
            "schedule": lambda: agenda.put_schedule(link, keys, "nightly", b'{"every_ms": 6}'),
            "declare": lambda: agenda.declare(link, keys, generator.id, term, {"hourly": b'{"origin": "code"}'}),
            "send": lambda: sending.send(link, keys, generator.id, settings, self.due(keys.base + "celery", term)),
            "prepare": lambda: archive.prepare(link, self.empty, "digest", ["default"]),
            "restore": lambda: archive.restore(link, keys, "digest", imported(keys)),
            "handover": lambda: control.handover(link, keys),
            "sample": lambda: history.sample(link, keys, generator.id, term, ["default"]),
            "elapse": lambda: rehearsal.elapse(link, keys, ["default"], 5),
            "vouch": lambda: rehearsal.vouch(link, keys, handler.id, 5),
            "retime": lambda: rehearsal.retime(link, keys, ["nightly"], 5),
            "report": lambda: report.report(link, keys, generator.id, 1, "{}"),
        }

    def due(self, queue: str, term: int) -> sending.SendCall:
        """What a beat of Celery would send."""
        agenda_read = agenda.read_agenda(self.store.link, self.store.keys).version
        post = sending.Post([(queue, "one"), (queue, "two")])
        return sending.SendCall(term, self.generator.call + 1, agenda_read, "nightly", 500, 1, post)


@pytest.fixture
def stage(store: Store) -> Stage:
    return Stage(store)


def join(store: Store, *, drains: bool = False) -> None:
    """Without the look at the books that an Instance takes: they are not ours here."""
    presence.join(store.link, store.keys, Instance(store, drains=drains).who, store.settings)


def keys_of_the(call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that a call would pass to its script."""

    class NotSent(Exception):
        pass

    passed: list[str] = []

    def record(script: Script, link: Any, keys: Any, args: Any, more_keys: Any = (), more_args: Any = ()) -> Any:
        passed.extend([*(keys[name] for name in script.keys), *more_keys])
        raise NotSent

    with monkeypatch.context() as patched:
        patched.setattr(Script, "begin", record)
        with pytest.raises(NotSent):
            call()
    return passed


@contextmanager
def theirs(store: Store, key: str) -> Iterator[None]:
    """What stands under this name is somebody else's for a while."""
    aside = store.keys.base + "aside"
    was_there = store.link.command("EXISTS", key) and store.link.command("RENAME", key, aside)
    store.link.command("SET", key, THEIRS)
    yield
    assert store.link.command("GET", key) == THEIRS.encode()
    store.link.command("DEL", key)
    if was_there:
        store.link.command("RENAME", aside, key)


def test_every_script_that_writes_is_on_the_stage(stage: Stage) -> None:
    """A new one must meet its keys, too."""
    assert set(stage.calls()) == set(scripts()) - READ_ONLY - {REMOVES}


@pytest.mark.parametrize("name", sorted(set(scripts()) - READ_ONLY - {REMOVES}))
def test_on_the_stage_every_script_writes(stage: Stage, name: str) -> None:
    """Otherwise the test below would show nothing."""
    before = dump(stage.store.link, stage.store.keys)

    stage.calls()[name]()

    assert dump(stage.store.link, stage.store.keys) != before


@pytest.mark.parametrize("name", sorted(set(scripts()) - READ_ONLY - {REMOVES}))
def test_a_key_of_another_type_ends_a_script_before_it_writes(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of its keys it is: Lua has no rollback, and half of a transition would cost messages."""
    call = stage.calls()[name]
    for each in dict.fromkeys(keys_of_the(call, monkeypatch)):
        if stage.store.keys.is_data(each.encode()):
            continue  # of any type: one that does not fit fails its message alone (test_commit.py)
        with theirs(stage.store, each), nothing_changes(stage.store), pytest.raises(ForeignData):
            call()


@pytest.mark.parametrize("name", [*TYPES, *(f"{what}:default" for what in OF_KIND)])
def test_a_newcomer_meets_every_key_of_the_namespace(store: Store, name: str) -> None:
    """Also those that joining does not write to: better now than in the middle of the work."""
    with theirs(store, store.keys.base + name), nothing_changes(store), pytest.raises(ForeignData):
        join(store)


@pytest.mark.parametrize("drains", [False, True])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("meta", ["HSET", "color", "blue"]),
        ("kinds", ["SADD", "theirs"]),
        ("instances", ["ZADD", "1", "theirs"]),
        ("term", ["HSET", "theirs", "1"]),
        ("errors", ["HSET", "theirs", "1"]),
        ("errors:by_time", ["ZADD", "1", "theirs"]),
    ],
)
def test_where_no_namespace_is_nothing_of_that_name_may_be(
    store: Store, said: dict[str, list[str]], name: str, command: list[str], drains: bool
) -> None:
    """Of the right type, but not ours: a namespace that begins there would take it for its own."""
    store.link.command(command[0], store.keys.base + name, *command[1:])

    with nothing_changes(store), pytest.raises(ForeignData, match=f"{name} is there, but .*meta"):
        join(store, drains=drains)

    assert said["join"] == ["FOREIGN"]


@pytest.mark.parametrize("name", [f"{what}:default" for what in OF_KIND])
def test_a_list_that_was_there_before_us_is_not_ours(store: Store, said: dict[str, list[str]], name: str) -> None:
    """What is in it would be handled as if we had published it."""
    put = ["ZADD", store.keys.base + name, "1"] if name.startswith("delayed:") else ["RPUSH", store.keys.base + name]
    store.link.command(*put, THEIRS)

    with nothing_changes(store), pytest.raises(ForeignData, match=name):
        join(store)

    assert said["join"] == ["FOREIGN"]


def test_what_a_refused_call_leaves_after_a_purge_is_ours(store: Store) -> None:
    """It is counted and logged although there is no namespace: whoever is reborn into it is let in."""
    store.link.command("HINCRBY", store.keys.totals, "superseded:next", 1)
    store.link.command("XADD", store.keys.log, "*", "event", "superseded")

    assert Instance(store).join().number == 1


def test_unknown_keys_in_the_namespace_are_left_alone(store: Store) -> None:
    """They may be a newer version's, or anybody's: they are not ours to judge."""
    theirs = store.keys.base + "something"
    store.link.command("SET", theirs, THEIRS)

    Instance(store).join()

    assert store.link.command("GET", theirs) == THEIRS.encode()
    assert foreign.keys_not_ours(store.link, store.keys) == [theirs.encode()]


@pytest.mark.parametrize("where", ["pending", "again"])
@pytest.mark.parametrize("text", ["hello", "", "two words", "1-tag mail 1 5 0 0 x"])
def test_what_is_no_message_stays_where_it_is_and_is_told(
    store: Store, said: dict[str, list[str]], where: str, text: str
) -> None:
    """Somebody pushed into a list of ours. What stands before it is claimed, and what was done is recorded."""
    generator = Instance(store)
    generator.join()
    generator.beat()
    generator.publish(2)
    key = f"{store.keys.base}{where}:default"
    store.link.command("RPUSH", key, text)
    if where == "again":
        store.link.command("RPUSH", key, *store.link.command("LRANGE", store.keys.pending("default"), 0, -1))
        store.link.command("DEL", store.keys.pending("default"))
    in_hand = ids(messages.next_turn(*turn_of(generator, Done(1)))) if where == "pending" else []
    if where == "pending":
        advance(generator, store)
        in_hand += ids(messages.next_turn(*turn_of(generator, Done(9))))
        advance(generator, store)
        assert len(in_hand) == 2

    with pytest.raises(ForeignData, match=f"{where}:default is no message"):
        messages.next_turn(*turn_of(generator, Done(9, completed=in_hand)))

    assert said["next"][-1] == "FOREIGN"
    assert store.link.command("LINDEX", key, 0) == text.encode()
    assert store.link.command("EXISTS", store.keys.claimed(generator.id)) == 0
    assert int(store.link.command("HGET", store.keys.totals, "completed") or 0) == len(in_hand)


def turn_of(instance: Instance, done: Done) -> tuple[Any, Keys, str, Any, TurnCall]:
    store = instance.store
    return store.link, store.keys, instance.id, store.settings, instance.turn_call_of({"default": done})


def advance(instance: Instance, store: Store) -> None:
    """Go on from what the server has stored, as the runtime does with an answer."""
    turn, stamp = store.link.command("HMGET", store.keys.instance(instance.id), "turn", "stamp")
    instance.turn, instance.stamp = int(turn), stamp.decode()


def test_a_record_that_nobody_of_us_wrote_goes_back_as_it_came(store: Store) -> None:
    """A drainer cannot read it: it says so, and leaves nothing behind."""
    Instance(store).join()
    drainer = Instance(store, drains=True)
    drainer.join()
    store.link.command("HSET", store.keys.errors, "1-x", THEIRS)
    store.link.command("ZADD", store.keys.errors_by_time, 5, "1-x")

    with pytest.raises(ForeignData, match="1-x"):
        records.drain(store.link, store.keys, drainer.id, 9)
    presence.leave(store.link, store.keys, drainer.id, store.settings, [])

    assert store.link.command("HGET", store.keys.errors, "1-x") == THEIRS.encode()
    assert store.link.command("EXISTS", store.keys.drained(drainer.id)) == 0


def test_the_types_are_those_of_the_headers() -> None:
    """keys.py says them for people, the header of each script for those who read it: they are one."""
    keys = Keys("x")
    named = {attribute: key.removeprefix(keys.base) for attribute, key in vars(keys).items()}
    types = {attribute: TYPES[name] for attribute, name in named.items() if name in TYPES}
    assert set(named) - set(types) == {"namespace", "base", "alive"}
    for text in scripts().values():
        for entry in LuaScript(text).header.entries["KEYS"]:
            name, of_type, *_ = entry.split()
            assert of_type == types.get(name, of_type), entry


def test_joining_is_given_every_key_that_a_namespace_has_once() -> None:
    """So that it can meet them."""
    assert set(Keys("x").single) <= {getattr(Keys("x"), name, "") for name in presence.JOIN.keys}
