"""What came of a run, and how two of them differ, in words. Pure."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

COMPLETED, COMMITTED, PUBLISHED = "completed", "committed", "published"

MOST_TOLD = 3
"""Differences, and messages in a list, that are told by name."""

MOST_LETTERS, MOST_OF_A_MESSAGE, MOST_OF_A_REASON = 60, 36, 200


@dataclass
class Outcome:
    """What came of a run.

    Attributes:
        said: what became of each message, the cursor that is stored: a name and a value in words.
        lists: what is in Redis now: a name, and what was committed or published, in its order.
        world: what the user's function shows of the outside world, as JSON has it.
        world_failure: why it could not show anything, if it could not.
    """

    said: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    world: Any = None
    world_failure: str | None = None


def message_told(kind: str, key: str, body: bytes) -> str:
    """A message that is published, in one line."""
    text = body.decode(errors="backslashreplace")
    return " ".join(part for part in (kind, key and f"{key}:", text) if part)


def differences(came: Outcome, wanted: Outcome) -> tuple[str, ...]:
    """How the first differs from the second: `charges 2, want 1`. None at all: they are the same."""
    found = [*_said(came.said, wanted.said)]
    for name in _names(came.lists, wanted.lists):
        found += _listed(name, came.lists.get(name, []), wanted.lists.get(name, []))
    if came.world_failure is not None:
        found.append(f"the world cannot be shown: {came.world_failure}")
    else:
        found += _compared("", came.world, wanted.world)
    if len(found) > MOST_TOLD:
        found = [*found[:MOST_TOLD], f"{len(found) - MOST_TOLD} more differences"]
    return tuple(found)


def _said(came: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    for name in _names(came, wanted):
        if came.get(name) != wanted.get(name):
            is_now, was = came.get(name, "none"), wanted.get(name, "none")
            yield f"{name} {_short(is_now, MOST_OF_A_REASON)}, want {_short(was, MOST_OF_A_REASON)}"


def _listed(name: str, came: Sequence[str], wanted: Sequence[str]) -> Iterator[str]:
    too_many, missing = Counter(came) - Counter(wanted), Counter(wanted) - Counter(came)
    counts = f"{name} {len(came)}, want {len(wanted)}"
    if too_many and missing:
        yield f"{name} {_some(too_many)}, want {_some(missing)}"
    elif too_many:
        yield f"{counts} ({_some(too_many)} too many)"
    elif missing:
        yield f"{counts} ({_some(missing)} missing)"
    elif list(came) != list(wanted):
        yield f"{name} in another order"


def _some(counted: Counter[str]) -> str:
    named = [f"`{_short(each, MOST_OF_A_MESSAGE)}`" for each in counted.elements()]
    rest = f" and {len(named) - MOST_TOLD} more" if len(named) > MOST_TOLD else ""
    return ", ".join(named[:MOST_TOLD]) + rest


def _compared(path: str, came: Any, wanted: Any) -> Iterator[str]:
    """Where two values differ: as deep as they are of one shape, with a number where they are of different length."""
    if came == wanted:
        return
    if isinstance(came, dict) and isinstance(wanted, dict):
        for name in _names(came, wanted):
            below = f"{path}.{name}" if path else str(name)
            if name not in came or name not in wanted:
                yield f"{below} {_value(came, name)}, want {_value(wanted, name)}"
            else:
                yield from _compared(below, came[name], wanted[name])
    elif isinstance(came, list) and isinstance(wanted, list):
        if len(came) != len(wanted):
            yield f"{path or 'the world'} {len(came)}, want {len(wanted)}"
        else:
            for index, (each, other) in enumerate(zip(came, wanted, strict=True)):
                yield from _compared(f"{path}[{index}]", each, other)
    else:
        yield f"{path or 'the world'} {_short(_json(came))}, want {_short(_json(wanted))}"


def _names(came: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([*wanted, *came]))


def _value(of: Mapping[str, Any], name: str) -> str:
    if name not in of:
        return "none"
    value = of[name]
    return str(len(value)) if isinstance(value, list | dict) else _short(_json(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str, most: int = MOST_LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
