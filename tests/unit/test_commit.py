"""message.commit, message.publish, message.key_for, Retry: what they record, and what they refuse before anything is sent."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from soloist import Commit, Message, Retry
from soloist.commit import MOST_ARGUMENTS, Home
from soloist.errors import UsageError
from soloist.store.envelope import unpack
from soloist.store.keys import Keys
from soloist.store.messages import Write

ENVELOPE = b"17-tag default 1 1794815058256 0 0 the body"


@pytest.fixture
def home() -> Home:
    return Home(Keys("shop").base, "k3fq2mz", lambda: 1_794_815_058_256)


@pytest.fixture
def message(home: Home) -> Message:
    return Message(ENVELOPE, 1, home)


def test_who_asks_for_nothing_has_asked_for_nothing(message: Message) -> None:
    """The runtime sees it at a glance; looking at commit is not asking."""
    assert message.asked is None
    assert not message.commit.writes
    assert message.asked is None


@pytest.mark.parametrize(
    ("call", "command", "arguments"),
    [
        (lambda commit, key: commit.set(key, "text"), "set", ("text",)),
        (lambda commit, key: commit.setnx(key, b"\xff"), "setnx", (b"\xff",)),
        (lambda commit, key: commit.append(key, 7), "append", (7,)),
        (lambda commit, key: commit.incrby(key), "incrby", (1,)),
        (lambda commit, key: commit.decrby(key, -5), "decrby", (-5,)),
        (lambda commit, key: commit.delete(key), "del", ()),
        (lambda commit, key: commit.expire(key, 60), "expire", (60,)),
        (lambda commit, key: commit.persist(key), "persist", ()),
        (lambda commit, key: commit.hset(key, "n", 1), "hset", ("n", 1)),
        (lambda commit, key: commit.hset(key, mapping={"a": 1, "b": "2"}), "hset", ("a", 1, "b", "2")),
        (lambda commit, key: commit.hset(key, "n", 1, {"a": 2}), "hset", ("n", 1, "a", 2)),
        (lambda commit, key: commit.hsetnx(key, "n", 1), "hsetnx", ("n", 1)),
        (lambda commit, key: commit.hdel(key, "a", "b"), "hdel", ("a", "b")),
        (lambda commit, key: commit.hincrby(key, "n", 2), "hincrby", ("n", 2)),
        (lambda commit, key: commit.sadd(key, "a", 1), "sadd", ("a", 1)),
        (lambda commit, key: commit.srem(key, "a"), "srem", ("a",)),
        (lambda commit, key: commit.zadd(key, {"a": 1, "b": 2.5}), "zadd", ("1.0", "a", "2.5", "b")),
        (lambda commit, key: commit.zrem(key, "a"), "zrem", ("a",)),
        (lambda commit, key: commit.zincrby(key, 1e22, "a"), "zincrby", ("1e+22", "a")),
        (lambda commit, key: commit.rpush(key, "a", "b"), "rpush", ("a", "b")),
        (lambda commit, key: commit.lpush(key, "a"), "lpush", ("a",)),
        (lambda commit, key: commit.pfadd(key, "a"), "pfadd", ("a",)),
    ],
)
def test_a_command_is_recorded_as_it_will_be_sent(
    message: Message, call: Callable[[Commit, str], None], command: str, arguments: tuple[Any, ...]
) -> None:
    """Called as in redis-py; nothing is answered, since nothing has happened."""
    key = message.key_for("sum")

    call(message.commit, key)

    assert message.asked == ([Write(command, "soloist:{shop}:data:sum", arguments)], [])


def test_commands_are_kept_in_their_order(message: Message) -> None:
    """They are carried out in it."""
    message.commit.delete(message.key_for("a"), message.key_for("b"))
    message.commit.incrby(message.key_for("a"))

    assert [(write.command, write.key[-1]) for write in message.commit.writes] == [
        ("del", "a"), ("del", "b"), ("incrby", "a"),
    ]  # fmt: skip


def test_a_message_is_published_under_an_id_that_never_comes_again(home: Home, message: Message) -> None:
    """Counted for the incarnation, across its messages; time, key and body as with any other message."""
    message.publish("mail", {"to": "ann"}, key="welcome:ann", delay=0.0001)
    Message(ENVELOPE, 1, home).publish("mail", "text")
    another = Message(ENVELOPE, 1, home)
    another.publish("mail", b"bytes")

    assert message.asked is not None
    ((), (first,)) = (tuple(message.asked[0]), message.asked[1])
    assert (first.kind, first.delay_ms) == ("mail", 1)
    assert unpack(first.envelope) == ("1-k3fq2mz", "mail", 1_794_815_058_256, "welcome:ann", b"", b'{"to":"ann"}')
    assert unpack(another.commit.followups[0].envelope)[:4] == ("3-k3fq2mz", "mail", 1_794_815_058_256, "3-k3fq2mz")


def test_a_message_made_by_hand_records_too() -> None:
    """So that a handler can be tested with nothing but a message."""
    message = Message(ENVELOPE)

    message.commit.incrby(message.key_for("sum"), 3)
    message.publish("mail", "text")

    assert message.asked is not None
    assert message.asked[0] == [Write("incrby", "soloist:{test}:data:sum", (3,))]
    assert unpack(message.asked[1][0].envelope).body == b"text"


@pytest.mark.parametrize(
    "key", ["sum", "soloist:{other}:data:sum", "soloist:{shop}:pending:default", "soloist:{shop}:data:", 7]
)
def test_a_key_that_is_not_the_messages_own_is_refused(message: Message, key: Any) -> None:
    """Another slot, another namespace, or our own keys: the sentence says who, where, and what to write."""
    with pytest.raises(UsageError) as refusal:
        message.commit.incrby(key)

    says = str(refusal.value)
    assert "test_a_key_that_is_not_the_messages_own_is_refused (test_commit.py, line " in says
    assert repr(key) in says
    assert "message.key_for(" in says
    assert message.asked is None


@pytest.mark.parametrize("command", ["get", "flushall", "eval", "lpop", "hgetall", "incrbyfloat"])
def test_a_command_that_is_not_allowed_is_refused_and_those_that_are_told(message: Message, command: str) -> None:
    """It is also an AttributeError, as for any name that an object does not have."""
    with pytest.raises(UsageError, match=rf"commit\.{command}.*hincrby.*zincrby") as refusal:
        getattr(message.commit, command)

    assert isinstance(refusal.value, AttributeError)
    assert "(test_commit.py, line " in str(refusal.value)
    assert not hasattr(message.commit, command)


def test_a_commit_can_be_looked_at_and_copied(message: Message) -> None:
    """Whoever asks for a name that Python gives itself is no user of ours."""
    message.commit.incrby(message.key_for("sum"))

    assert copy.copy(message.commit).writes == message.commit.writes
    assert repr(message.commit) == "<Commit of 1 writes and 0 messages>"


@pytest.mark.parametrize(
    "call",
    [
        lambda commit, key: commit.set(key, None),
        lambda commit, key: commit.set(key, 1.5),
        lambda commit, key: commit.set(key, True),
        lambda commit, key: commit.sadd(key, ["a"]),
        lambda commit, key: commit.sadd(key),
        lambda commit, key: commit.rpush(key, *range(MOST_ARGUMENTS + 1)),
        lambda commit, key: commit.incrby(key, 1.0),
        lambda commit, key: commit.incrby(key, 2**53 + 1),
        lambda commit, key: commit.incrby(key, "1"),
        lambda commit, key: commit.expire(key, 0),
        lambda commit, key: commit.expire(key, 1.5),
        lambda commit, key: commit.zadd(key, {"a": float("nan")}),
        lambda commit, key: commit.zadd(key, {"a": "1"}),
        lambda commit, key: commit.zadd(key, {}),
        lambda commit, key: commit.zincrby(key, float("inf"), "a"),
        lambda commit, key: commit.hset(key),
        lambda commit, key: commit.hset(key, "n"),
        lambda commit, key: commit.hdel(key),
    ],
)
def test_what_could_only_fail_later_is_refused_at_once(message: Message, call: Callable[[Commit, str], None]) -> None:
    """With who and where, while the handler's line is still known."""
    with pytest.raises(UsageError, match=r"\(test_commit.py, line \d+\)"):
        call(message.commit, message.key_for("it"))

    assert message.asked is None


@pytest.mark.parametrize(
    "call",
    [
        lambda message: message.key_for(""),
        lambda message: message.key_for(7),
        lambda message: message.publish("two words", "text"),
        lambda message: message.publish("", "text"),
        lambda message: message.publish(None, "text"),
        lambda message: message.publish("mail", "text", delay=-1),
        lambda message: message.publish("mail", "text", delay=float("nan")),
        lambda message: message.publish("mail", "text", delay=10**12),
        lambda message: message.publish("mail", "text", delay="1"),
        lambda message: message.publish("mail", "text", key=7),
        lambda message: message.publish("mail", object()),
    ],
)
def test_what_cannot_be_published_is_refused_at_once(message: Message, call: Callable[[Message], object]) -> None:
    """The same of kinds, delays, keys and bodies."""
    with pytest.raises(UsageError, match=r"\(test_commit.py, line \d+\)"):
        call(message)

    assert message.asked is None


def test_a_retry_says_after_how_long() -> None:
    """Seconds; at once, if nothing is said."""
    assert Retry().after == 0
    assert (Retry(after=2.5).after, str(Retry("busy", after=1))) == (2.5, "busy")


@pytest.mark.parametrize("after", [-1, float("nan"), float("inf"), "1", None, 10**12])
def test_a_retry_after_no_time_is_refused_where_it_is_raised(after: Any) -> None:
    """In the handler, not in the machinery behind it."""
    with pytest.raises(UsageError, match="after"):
        Retry(after=after)
