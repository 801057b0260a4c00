"""The one place that turns a script's words into types."""

from collections.abc import Iterable
from typing import Any

from soloist.errors import Defect


class Superseded(Exception):
    """Presence is gone, or call, turn or stamp do not fit: the caller must be reborn.

    Attributes:
        what: the script that said so: beat, publish, next, drain or confirm.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class TermOver(Superseded):
    """Only the term is another's; presence and claims are untouched."""


def word(reply: list[Any], script: str, *known: str) -> str:
    """The first word of an answer, which must be one of those known."""
    answer = text(reply[0])
    if answer == "SUPERSEDED":
        if len(reply) > 1 and reply[1] == b"term":
            raise TermOver(script)
        raise Superseded(script)
    if answer not in known:
        raise Defect(f"{script}.lua answered {answer}, which its caller does not know")
    return answer


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def texts(values: Iterable[Any]) -> list[str]:
    return [text(value) for value in values]


def fields(flat: list[Any]) -> dict[str, str]:
    """A flat list of names and values, as Redis answers a hash."""
    pairs = iter(flat)
    return {text(name): value.decode(errors="surrogateescape") for name, value in zip(pairs, pairs, strict=True)}
