"""One life of an instance under one id: what it is called, and whether it is over."""

import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from soloist.store.presence import Joined, Who

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def new_id() -> str:
    """An id that never comes again."""
    return "".join(secrets.choice(ALPHABET) for _ in range(12))


def new_tag() -> str:
    """The tag of a term's message ids: after a failover a number can come again, number and tag together cannot."""
    return "".join(secrets.choice(ALPHABET) for _ in range(7))


def introduce(app: str, kinds: Sequence[str], number: int = 0, *, drains: bool = False) -> Who:
    """This process under a new id."""
    return Who(new_id(), number, app, socket.gethostname(), os.getpid(), tuple(kinds), drains)


@dataclass
class Incarnation:
    """One life.

    Attributes:
        stamp: for the first `next`.
        highest: the highest term that it played.
        over: it was superseded or has left; what was claimed under it counts no more.
    """

    who: Who
    number: int
    stamp: str
    highest: int = 0
    over: bool = False

    @classmethod
    def begin(cls, who: Who, joined: Joined) -> "Incarnation":
        return cls(who, joined.number, joined.stamp)

    @property
    def id(self) -> str:
        return self.who.id
