"""What is written and published along with a message: all of it if the message completes, nothing of it otherwise.

Nothing here talks to the server. A handler says what it wants, and `next` does it in the step that completes the message.
"""

import math
import sys
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from soloist.errors import CommandNotAllowed, UsageError, delay_ms, is_number, is_text
from soloist.store import envelope
from soloist.store.keys import DATA, Keys
from soloist.store.specials import Followup, Write

Text: TypeAlias = str | bytes | int
"""A value, a member, a field: numbers are written as text, as the server keeps them."""

COMMANDS = (
    "append", "decrby", "del", "expire", "hdel", "hincrby", "hset", "hsetnx", "incrby", "lpush", "persist", "pfadd", "rpush",
    "sadd", "set", "setnx", "srem", "zadd", "zincrby", "zrem",
)  # fmt: skip
"""All that may be written along with a message: of these it can be foreseen whether the server would refuse them."""

MOST = 2**53
"""Numbers are exact in scripts up to here, so sums stay within."""

MOST_ARGUMENTS = 1000
"""Of one command; more of them are several commands, in the same step."""


class Home:
    """What a message needs to know of its instance. The runtime makes one for each incarnation.

    Args:
        base: what all keys of the namespace begin with (Keys.base).
        tag: unique to this incarnation: with a number before it an id that never comes again.
        now_ms: answers the server's time as it is estimated here, for `published_at`.
    """

    __slots__ = ("_now_ms", "_numbers", "_tag", "data")

    def __init__(self, base: str, tag: str, now_ms: Callable[[], int]) -> None:
        self.data = base + DATA
        self._tag = tag
        self._now_ms = now_ms
        self._numbers = count(1)  # which may be asked from several threads

    def key_for(self, name: str) -> str:
        """The full name of a key that may be written along with messages."""
        if not is_text(name) or not name:
            raise UsageError(f"{caller()} asks for the key {name!r}: the name of a key is text, at least one letter")
        return self.data + name

    def followup(self, kind: str, body: bytes, key: str, delay: float) -> Followup:
        """A message that is published along with another."""
        if not is_text(kind) or not envelope.NAME.fullmatch(kind):
            raise UsageError(
                f"{caller()} publishes to the kind {kind!r}: a kind is 1 to 128 letters, digits and _ . : / - in a row"
            )
        if not is_text(key):
            raise UsageError(f"{caller()} publishes a message with the key {key!r}: a key is text")
        try:
            later = delay_ms(delay)
        except UsageError as error:
            raise UsageError(f"{caller()} publishes a message with a delay: {error}") from None
        ident = f"{next(self._numbers)}-{self._tag}"
        return Followup(kind, envelope.pack(ident, kind, self._now_ms(), body, key.encode()), later)


NOWHERE = Home(Keys("test").base, "test", lambda: 0)
"""Of a message that was made by hand, as in a user's own test: what it asks for is recorded, and goes nowhere."""


class Commit:
    """Commands that are carried out in the step that completes the message; if it does not complete, none of them is.

    They are called as in redis-py and answer nothing, since nothing has happened yet. Each command's key comes from
    `message.key_for`. Whether the server would refuse one (a key of another type, a sum beyond 2^53) is found out in that
    step before the first of them is carried out; then the message fails, alone, and goes to the error store with the reason.
    """

    __slots__ = ("_data", "followups", "writes")

    def __init__(self, data: str) -> None:
        self._data = data
        self.writes: list[Write] = []
        self.followups: list[Followup] = []

    # Strings and counters.

    def set(self, name: str, value: Text) -> None:
        """The key is this text from now on, whatever it was, and does not expire."""
        self._add("set", name, _text(value))

    def setnx(self, name: str, value: Text) -> None:
        """The same, if there is no such key."""
        self._add("setnx", name, _text(value))

    def append(self, key: str, value: Text) -> None:
        self._add("append", key, _text(value))

    def incrby(self, name: str, amount: int = 1) -> None:
        self._add("incrby", name, _whole(amount))

    def decrby(self, name: str, amount: int = 1) -> None:
        self._add("decrby", name, _whole(amount))

    # Any key.

    def delete(self, *names: str) -> None:
        """The command `del`, which is a word of Python's."""
        for name in names:
            self._add("del", name)

    def expire(self, name: str, time: int) -> None:
        """The key is gone after so many seconds; earlier where a server evicts such keys when memory is short."""
        if _whole(time) < 1:
            raise UsageError(f"{caller()} lets a key expire after {time!r} seconds: write at least 1, or delete it")
        self._add("expire", name, time)

    def persist(self, name: str) -> None:
        """The key does not expire any more."""
        self._add("persist", name)

    # Hashes.

    def hset(
        self, name: str, key: Text | None = None, value: Text | None = None, mapping: Mapping[Any, Text] | None = None
    ) -> None:
        """One field, or those of a mapping, or both."""
        if (key is None) != (value is None) or (key is None and not mapping):
            raise UsageError(f"{caller()} sets no field of a hash: give a key and a value, or a mapping")
        pairs = [] if key is None else [_text(key), _text(value)]
        for field, text in (mapping or {}).items():
            pairs += (_text(field), _text(text))
        self._add("hset", name, *pairs)

    def hsetnx(self, name: str, key: Text, value: Text) -> None:
        """One field, if there is none of that name."""
        self._add("hsetnx", name, _text(key), _text(value))

    def hdel(self, name: str, *keys: Text) -> None:
        self._add("hdel", name, *map(_text, keys))

    def hincrby(self, name: str, key: Text, amount: int = 1) -> None:
        self._add("hincrby", name, _text(key), _whole(amount))

    # Sets, sorted sets, lists, counters of what is different.

    def sadd(self, name: str, *values: Text) -> None:
        self._add("sadd", name, *map(_text, values))

    def srem(self, name: str, *values: Text) -> None:
        self._add("srem", name, *map(_text, values))

    def zadd(self, name: str, mapping: Mapping[Any, float]) -> None:
        """Members and their scores."""
        self._add("zadd", name, *(part for member, score in mapping.items() for part in (_score(score), _text(member))))

    def zrem(self, name: str, *values: Text) -> None:
        self._add("zrem", name, *map(_text, values))

    def zincrby(self, name: str, amount: float, value: Text) -> None:
        self._add("zincrby", name, _score(amount), _text(value))

    def rpush(self, name: str, *values: Text) -> None:
        self._add("rpush", name, *map(_text, values))

    def lpush(self, name: str, *values: Text) -> None:
        self._add("lpush", name, *map(_text, values))

    def pfadd(self, name: str, *values: Text) -> None:
        self._add("pfadd", name, *map(_text, values))

    if not TYPE_CHECKING:  # a type checker knows that there is no such method, and says so earlier

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise CommandNotAllowed(
                f"{caller()} asks for message.commit.{name}, which may not be written along with a message: it could not "
                f"be foreseen whether the server would refuse it. What may is {', '.join(COMMANDS)} (del is called delete)"
            )

    def __repr__(self) -> str:
        return f"<Commit of {len(self.writes)} writes and {len(self.followups)} messages>"

    def _add(self, command: str, key: str, *arguments: Text) -> None:
        if not is_text(key) or not key.startswith(self._data) or key == self._data:
            raise UsageError(
                f"{caller()} writes to the key {key!r}, which is not in the message's own part of the namespace: "
                f"write message.key_for({_short(key)!r}) in its place. (Other keys may be on another server of a cluster.)"
            )
        if command not in NO_ARGUMENTS and not 0 < len(arguments) <= MOST_ARGUMENTS:
            raise UsageError(
                f"{caller()} gives {command} {len(arguments):,} values: it takes 1 to {MOST_ARGUMENTS:,} of them, pairs "
                f"counted twice. Call it several times: all of it happens in one step"
            )
        self.writes.append(Write(command, key, arguments))


NO_ARGUMENTS = {"del", "persist"}


def _text(value: Any) -> Text:
    if isinstance(value, str | bytes | int) and not isinstance(value, bool):
        return value
    raise UsageError(
        f"{caller()} writes {value!r}, a {type(value).__name__}: what is written is text, bytes or a whole number. "
        f"Make text of it"
    )


def _whole(amount: Any) -> int:
    if isinstance(amount, int) and not isinstance(amount, bool) and abs(amount) <= MOST:
        return amount
    raise UsageError(f"{caller()} adds {amount!r}: the amount is a whole number within 2^53, of either sign")


def _score(score: Any) -> str:
    if is_number(score) and math.isfinite(score):
        return repr(float(score))
    raise UsageError(f"{caller()} gives the score {score!r}: a score is a finite number")


def _short(key: Any) -> str:
    """A name for the key that the user probably meant."""
    return str(key).rpartition(":")[2] or "name"


def caller() -> str:
    """The function, file and line outside of this package's own objects from which we were called."""
    frame = sys._getframe(1)  # noqa: SLF001 - who made the mistake is what there is to say
    while frame.f_back is not None and frame.f_globals.get("__name__") in OWN:
        frame = frame.f_back
    code = frame.f_code
    return f"{code.co_name} ({code.co_filename.rpartition('/')[2]}, line {frame.f_lineno})"


OWN = {__name__, "soloist.message"}
