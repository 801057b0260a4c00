"""What happened in a history, kept in short and told in words when somebody wants to know."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

from soloist.store.messages import PUBLISH

KINDS_COUNT = PUBLISH.args.index("kinds_count")

Word = TypeVar("Word", str, bytes)
Entry: TypeAlias = tuple[float, str, tuple[Any, ...]]


class Trace:
    """Everything, in order."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def sent(self, now: float, process: str, actor: str, name: str, fate: str) -> None:
        self._entries.append((now, "sent", (process, actor, name, fate)))

    def executed(self, now: float, process: str, name: str, words: list[bytes], answer: Any) -> None:
        self._entries.append((now, "executed", (process, name, words, answer)))

    def happened(self, now: float, what: str) -> None:
        self._entries.append((now, "happened", (what,)))

    def lines(self) -> Iterator[str]:
        """In words."""
        for now, kind, told in self._entries:
            yield f"{now:9.4f} {_WORDS[kind](*told)}"

    def telling(self) -> Iterator[str]:
        """In words, without the calls to which nothing happened and which changed nothing of note."""
        for now, kind, told in self._entries:
            if kind == "happened" or (kind == "sent" and told[3]) or (kind == "executed" and _matters(*told)):
                yield f"{now:9.4f} {_WORDS[kind](*told)}"

    def digest(self) -> str:
        """Of everything that was said and answered."""
        return hashlib.sha256(repr(self._entries).encode()).hexdigest()


def _sent(process: str, actor: str, name: str, fate: str) -> str:
    return f"{process} sends {name} ({actor}){f': {fate}' if fate else ''}"


def _executed(process: str, name: str, words: list[bytes], answer: Any) -> str:
    if isinstance(answer, Exception):
        return f"{' ' * 10}{name} of {process} -> {type(answer).__name__}"
    return f"{' ' * 10}{name} of {process}{_asked(name, words)} -> {_said(name, answer)}"


def arguments(words: list[bytes]) -> list[bytes]:
    """ARGV of a call of a script."""
    return words[3 + int(words[2]) :]


def envelopes_in(given: list[Word]) -> list[Word]:
    """Those of a publish, by its arguments."""
    return given[len(PUBLISH.args) + 2 * int(given[KINDS_COUNT]) :]


def _asked(name: str, words: list[bytes]) -> str:
    given = [word.decode(errors="replace") for word in arguments(words)]
    if name == "publish":
        envelopes = envelopes_in(given)
        return f" as {given[0]}, term {given[1]}, call {given[2]}, from {given[3]}: {len(envelopes)} of {given[6]}"
    if name == "next":
        kinds, runs = int(given[5]), int(given[6])
        wants = {given[7 + 5 * at]: int(given[8 + 5 * at]) for at in range(kinds)}
        return f" as {given[0]}, turn {given[1]}, stamp {given[2][-9:]}, wants {wants}, runs {given[7 + 5 * kinds :] if runs else 0}"
    if name == "beat":
        return f" as {given[0]}, term {given[2]}{'' if given[3] == '1' else ', may not generate'}"
    return f" as {given[0]}" if name in ("leave", "reclaim", "join", "drain", "confirm") else ""


def _said(name: str, answer: list[Any]) -> str:
    word = answer[0].decode()
    if name == "beat" and word == "OK":
        return f"{answer[2].decode()}, place {answer[3]}, next in {answer[4]} ms" + (
            f", gone {answer[6]}" if answer[6] else ""
        )
    if name == "next" and word in ("OK", "AGAIN"):
        return f"{word} {[envelope.split(b' ')[0].decode() for envelope in answer[2]]}"
    return " ".join(part.decode(errors="replace")[:60] if isinstance(part, bytes) else str(part) for part in answer)


def _matters(process: str, name: str, words: list[bytes], answer: Any) -> bool:
    if isinstance(answer, Exception):
        return True
    if name == "beat" and answer[0] == b"OK":
        return answer[2] not in (b"handler", b"generator")
    return name not in ("sample", "report")


_WORDS: dict[str, Callable[..., str]] = {"sent": _sent, "executed": _executed, "happened": lambda what: f"!! {what}"}
