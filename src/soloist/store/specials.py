"""What there may be to say of a message that is done, other than that it is completed. Imports nothing that talks."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Write(NamedTuple):
    """One command that is carried out along with a message, if and only if that is completed. Which may: commit.py."""

    command: str
    key: str
    arguments: tuple[str | bytes | int, ...] = ()


class Followup(NamedTuple):
    """A message that is published along with another, if and only if that is completed; not before `delay_ms` are over."""

    kind: str
    envelope: bytes
    delay_ms: int = 0


class FailedMessage(NamedTuple):
    """A message that failed: its place among what the caller holds, and why."""

    place: int
    id: bytes
    details: bytes


class RetriedMessage(NamedTuple):
    """A message that is to be handled once more, not before `after_ms` are over."""

    place: int
    id: bytes
    after_ms: int


class CommittedMessage(NamedTuple):
    """A message that is completed, and what happens in the same step. It fails alone if one of its writes cannot be."""

    place: int
    id: bytes
    writes: Sequence[Write] = ()
    messages: Sequence[Followup] = ()


Special: TypeAlias = FailedMessage | RetriedMessage | CommittedMessage
"""A message of which there is more to say than that it is completed."""
