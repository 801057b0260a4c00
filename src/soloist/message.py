"""Message: what a handler is given. ErrorRecord: what is left of one that failed."""

import time
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import msgspec

from soloist.commit import NOWHERE, Commit, Home, caller
from soloist.errors import UsageError
from soloist.store.envelope import Envelope, id_of, pack, unpack
from soloist.store.specials import Followup, Write

DEFAULT_KIND = "default"

T = TypeVar("T")


class Message(msgspec.Struct, eq=False, gc=False):
    """One message in the hands of a handler. Taken apart only when something of it is asked for.

    A Struct, since one is made for every message: that takes 60 ns, a class with an initializer in Python 150.
    """

    _envelope: bytes
    attempt: int = 1
    _home: Home | None = None
    """Its instance, as far as it needs to know it; None if somebody made it by hand."""
    _parts: Envelope | None = None
    rejected: str | None = None
    """Why it was rejected singly, if it was."""
    _commit: Commit | None = None

    @property
    def _unpacked(self) -> Envelope:
        if self._parts is None:
            self._parts = unpack(self._envelope)
        return self._parts

    @property
    def id(self) -> str:
        """`SEQ-TAG`, unique for ever."""
        return id_of(self._envelope).decode()

    @property
    def key(self) -> str:
        """The idempotency key: the source's own, else the id."""
        return self._unpacked.key

    @property
    def kind(self) -> str:
        return self._unpacked.kind

    @property
    def data(self) -> bytes:
        """The body as it was published."""
        return self._unpacked.body

    @property
    def body(self) -> str:
        """The body as text; bytes that are no text become replacement characters."""
        return self._unpacked.body.decode(errors="replace")

    @property
    def published_at(self) -> float:
        """Seconds since the epoch, by the server's clock."""
        return self._unpacked.published_at / 1000

    @property
    def scheduled_for(self) -> float | None:
        """The tick of which it is a run, seconds since the epoch; None if no schedule published it."""
        headers = self._unpacked.headers
        tick = msgspec.json.decode(headers).get("scheduled_for") if headers else None
        return tick / 1000 if isinstance(tick, int) else None

    def json(self, type: type[T] | Any = Any) -> T | Any:  # noqa: A002 - reads as `message.json(Order)`
        """The body as JSON, checked against a type if one is given."""
        return msgspec.json.decode(self._unpacked.body, type=type)

    @property
    def commit(self) -> Commit:
        """What is written in Redis in the step that completes this message, if and only if it completes."""
        if self._commit is None:
            self._commit = Commit((self._home or NOWHERE).data)
        return self._commit

    def key_for(self, name: str) -> str:
        """The full name of a key of yours that may be written along with messages of this namespace, and read anywhere."""
        return (self._home or NOWHERE).key_for(name)

    def publish(self, kind: str, body: Any, key: str = "", delay: float = 0.0) -> None:
        """Publish another message in the step that completes this one, if and only if it completes.

        Args:
            kind: which handler it is for.
            body: text and bytes as they are, anything else as JSON.
            key: what makes it this one and no other: `message.key`, else its id.
            delay: seconds before which it is not handled.
        """
        try:
            data = encode_body(body)
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(
                f"{caller()} publishes a {type(body).__name__} that cannot be encoded as JSON ({error}): "
                f"publish text, bytes, or something that is made of dicts, lists, text and numbers"
            ) from error
        self.commit.followups.append((self._home or NOWHERE).followup(kind, data, key, delay))

    @property
    def asked(self) -> tuple[list[Write], list[Followup]] | None:
        """What is to be written and published along with it; None if nothing. For the runtime, and for tests."""
        commit = self._commit
        return (commit.writes, commit.followups) if commit and (commit.writes or commit.followups) else None

    def reject(self, reason: str) -> None:
        """Of a batch: this one is erroneous, and goes to the error store with this reason; the others go on.

        A handler that is given one message raises `Reject` instead.
        """
        self.rejected = reason

    @classmethod
    def fake(cls, kind: str = DEFAULT_KIND, body: Any = "", key: str = "", *, attempt: int = 1) -> Self:
        """One made by hand, as a source would have published it: to call a handler with it in a test."""
        return cls(pack("1-test", kind, time.time_ns() // 1_000_000, encode_body(body), key.encode()), attempt)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("id", self.id), ("kind", self.kind), ("attempt", self.attempt)]  # a Struct would show the body

    def __repr__(self) -> str:
        return f"<Message {self.id} of kind {self.kind}, attempt {self.attempt}>"


def encode_body(value: Any) -> bytes:
    """What a source returned, as bytes: text and bytes as they are, anything else as JSON."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    return msgspec.json.encode(value)


class Details(msgspec.Struct, omit_defaults=True):
    """Why a message failed, as its handler (or the judge of a poison message) writes it down."""

    reason: str
    type: str
    handler: str
    attempts: int
    traceback: str | None = None


@dataclass(frozen=True)
class ErrorRecord:
    """A failed message at rest in the error store."""

    id: str
    key: str
    kind: str
    data: bytes
    published_at: float
    failed_at: float
    details: Details
