"""next.lua: each command that may be written along with a message, and what is foreseen of it.

The server itself is asked: whatever is let through it carries out, and whatever it would refuse is not let through.
"""

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

from soloist.commit import COMMANDS, Commit
from soloist.errors import SoloistError
from soloist.store.messages import Write
from tests.servers import Store
from tests.store.acting import Instance
from tests.store.committing import commits, key, reasons
from tests.store.state import dump

THERE: dict[str, list[tuple[str | int, ...]]] = {
    "none": [],
    "string": [("SET", "text")],
    "number": [("SET", "41")],
    "large": [("SET", str(2**53))],
    "beyond": [("SET", str(2**53 + 1))],
    "with zeros": [("SET", "007")],
    "empty": [("SET", "")],
    "counter": [("PFADD", "a")],
    "hash": [("HSET", "n", "41", "t", "text", "l", str(2**53))],
    "set": [("SADD", "a", "1")],
    "zset": [("ZADD", 1, "a")],
    "list": [("RPUSH", "a")],
    "stream": [("XADD", "*", "a", "1")],
}
"""What may stand under a key before."""

ARGUMENTS: dict[str, Sequence[tuple[str | int, ...]]] = {
    "set": [("text",), ("7",)],
    "setnx": [("8",)],
    "append": [("1",), ("",)],
    "incrby": [(1,), (-42,), (2**53,), ("1.5",), ("01",), ("-0",), (2**53 + 1,)],
    "decrby": [(1,), (0,), (-(2**53),), ("",)],
    "del": [()],
    "expire": [(100,), (2**53,), (0,), ("soon",)],
    "persist": [()],
    "hset": [("n", 1), ("t", "x", "n", "y"), ("n",)],
    "hsetnx": [("n", 1), ("new", "2")],
    "hdel": [("n",), ("n", "t", "l", "new"), ()],
    "hincrby": [("n", 1), ("t", 1), ("l", 1), ("new", -5), ("n", "x")],
    "sadd": [("a",), ("b", "c")],
    "srem": [("a", "1"), ("z",)],
    "zadd": [("1.5", "a"), ("1e+22", "b", "-2", "c"), ("nan", "a"), ("x", "a"), ("1e999", "a"), ("1e-999", "a")],
    "zrem": [("a",)],
    "zincrby": [("2.25", "a"), ("inf", "a"), (" 1", "a")],
    "rpush": [("a", "b")],
    "lpush": [("c",), ()],
    "pfadd": [("b",)],
}

CAREFUL = (
    "2^53",
    "cannot be foreseen",
    "512 MB",
    "from 1 on",
    "no finite number",
    "not made by pfadd",
    "what is there is a",
)
"""Reasons for which a message fails although the server might have let it pass."""


def put(store: Store, name: str, what: str) -> None:
    for command, *arguments in THERE[what]:
        store.link.command(command, name, *arguments)


def plainly(store: Store, name: str, writes: Sequence[Write]) -> bool:
    """The same commands by themselves, upon another key; whether the server took all of them."""
    for write in writes:
        try:
            store.link.command(write.command, name, *write.arguments)
        except SoloistError:
            return False
    return True


def state_of(store: Store, name: str) -> Any:
    expires = store.link.command("TTL", name) > 0
    found = dump(store.link, store.keys).get(name.removeprefix(store.keys.base))
    return (None if store.link.command("TYPE", name) == b"stream" else found), expires


def compare(store: Store, generator: Instance, what: str, writes: Sequence[Write]) -> str:
    """What a message commits, and the same commands by themselves, upon what stood there before; answers why not."""
    ours, plain = key(store, "ours"), key(store, "plain")
    store.link.command("DEL", ours, plain)
    put(store, ours, what)
    put(store, plain, what)
    before = state_of(store, ours)
    generator.publish(1)

    claimed = commits(generator, [write._replace(key=ours) for write in writes])

    taken = plainly(store, plain, writes)
    if not claimed.refused:
        assert taken, f"{what}: {writes} was let through, and the server refuses it"
        assert state_of(store, ours) == state_of(store, plain)
        return ""
    reason = str(reasons(store)[claimed.refused[0].decode()]["reason"])
    assert state_of(store, ours) == before, f"{what}: {writes} was refused ({reason}), and changed something"
    assert not taken or any(each in reason for each in CAREFUL), f"{what}: {writes} was refused: {reason}"
    return reason


@pytest.mark.parametrize("command", sorted(ARGUMENTS))
def test_what_the_server_would_refuse_is_refused_before(store: Store, generator: Instance, command: str) -> None:
    """Each command upon whatever may be there, with arguments that are right and wrong."""
    reasons_given = {
        compare(store, generator, what, [Write(command, "", arguments)])
        for what in THERE
        for arguments in ARGUMENTS[command]
    }

    assert "" in reasons_given, "nothing was ever let through"


@pytest.mark.parametrize("part", range(4))
def test_a_message_is_foreseen_in_the_light_of_its_own_commands(store: Store, generator: Instance, part: int) -> None:
    """Whatever it does to a key, in whatever order, from one seed: all of it is carried out, or nothing."""
    chance = random.Random(part)
    through = 0
    for _ in range(150):
        commands = chance.choices(sorted(ARGUMENTS), k=chance.randint(2, 5))
        writes = [Write(command, "", chance.choice(ARGUMENTS[command])) for command in commands]
        through += not compare(store, generator, chance.choice(sorted(THERE)), writes)

    assert 5 < through < 145


@pytest.mark.parametrize(
    ("there", "commands", "result"),
    [
        ("hash", [("set", "1"), ("incrby", 2)], b"3"),
        ("list", [("del",), ("incrby", 2), ("append", "0")], b"20"),
        ("none", [("setnx", "5"), ("setnx", "6"), ("decrby", 7)], b"-2"),
        ("number", [("append", "1"), ("incrby", 1)], b"412"),
    ],
)
def test_what_its_own_commands_make_possible_is_let_through(
    store: Store, generator: Instance, there: str, commands: Sequence[tuple[str, ...]], result: bytes
) -> None:
    """A set, and an incrby upon it, in one message."""
    assert compare(store, generator, there, [Write(command, "", tuple(rest)) for command, *rest in commands]) == ""
    assert store.link.command("GET", key(store, "ours")) == result


@pytest.mark.parametrize(
    ("commands", "says"),
    [
        ([("set", "x"), ("incrby", 1)], "incrby .*no whole number"),
        ([("incrby", 2**53), ("incrby", 1)], "incrby .*beyond 2"),
        ([("decrby", 2**53), ("decrby", 1)], "decrby .*beyond 2"),
        ([("sadd", "a"), ("srem", "a"), ("setnx", "x")], "setnx .*cannot be foreseen"),
        ([("hset", "n", "x"), ("hincrby", "n", 1)], "hincrby .*no whole number"),
        ([("set", "x"), ("pfadd", "a")], "pfadd .*not made by pfadd"),
        ([("rpush", *("x",) * 1001)], "number of arguments"),
        ([("flushall",)], "not among the commands"),
        ([("get",)], "not among the commands"),
    ],
)
def test_what_its_own_commands_make_impossible_is_refused(
    store: Store, generator: Instance, commands: Sequence[tuple[str, ...]], says: str
) -> None:
    """Before the first of them is written; the reason names the command and the key."""
    ours = key(store, "ours")
    generator.publish(1)

    (ident,) = commits(generator, [Write(command, ours, tuple(rest)) for command, *rest in commands]).refused

    assert store.link.command("EXISTS", ours) == 0
    assert re.search(says, str(reasons(store)[ident.decode()]["reason"]))


def test_every_command_is_compared_with_the_server() -> None:
    """A command that is added to the list must be shown here as well."""
    assert set(ARGUMENTS) == set(COMMANDS)
    assert all(hasattr(Commit, "delete" if command == "del" else command) for command in COMMANDS)
