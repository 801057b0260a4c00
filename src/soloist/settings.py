"""Every setting: its default, meaning and range, once. Flags, environment variables and file keys are derived from here.

Strength: code < file < environment < flag.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from soloist.errors import UsageError

ENVIRONMENT_PREFIX = "SOLOIST_"
FILE = "soloist.toml"
AUTO = 0
"""`batch` when it is adaptive."""

NONE = 0.0
"""`timeout` when there is none."""


def seconds(value: Any) -> float:
    return float(value)


def seconds_or_none(value: Any) -> float:
    return NONE if value == "none" else float(value)


def whole(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    return int(value)


def batch_size(value: Any) -> int:
    return AUTO if value in (AUTO, "auto") else whole(value)


def size_in_bytes(value: Any) -> int:
    """A number of bytes, or one with KB, MB or GB."""
    text = str(value).strip().upper()
    for unit, factor in (("KB", 2**10), ("MB", 2**20), ("GB", 2**30)):
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    return int(text)


def _setting(
    default: Any, parse: Callable[[Any], Any], least: float, most: float, says: str, shown: str, allowed: str = ""
) -> Any:
    about = {"parse": parse, "least": least, "most": most, "says": says, "shown": shown, "allowed": allowed}
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Settings:
    """All settings of an instance. Times in seconds; integer milliseconds on the wire."""

    lease: float = _setting(
        2.0,
        seconds,
        0.2,
        3600,
        (
            "Lease of the generator's term. Too small: a short stall costs the term. Too large: a frozen generator is "
            "replaced late."
        ),
        "2 s",
    )
    claim_lease: float = _setting(
        10.0,
        seconds,
        0.2,
        86400,
        (
            "Lease of an instance and of what it holds. Too small: code that holds the interpreter lock is taken for dead. "
            "Too large: what a frozen instance holds waits long. (A killed process is noticed at once.)"
        ),
        "10 s",
    )
    heartbeat: float = _setting(
        0.15,
        seconds,
        0.01,
        60,
        (
            "How often the generator, its successors and whoever holds a message beat. Larger: fewer commands, slower "
            "takeover."
        ),
        "0.15 s",
    )
    batch: int = _setting(
        AUTO,
        batch_size,
        0,
        1000,
        (
            "Most messages that one handler slot holds. auto: about 5 ms of work. 1: the smallest window that a kill "
            "repeats."
        ),
        "auto",
        "auto, or 1 to 1000",
    )
    concurrency: int = _setting(
        1,
        whole,
        1,
        10_000,
        ("How many messages of a kind an instance handles at a time, unless its handler says otherwise."),
        "1",
    )
    timeout: float = _setting(
        NONE,
        seconds_or_none,
        0,
        86400,
        ("Seconds that the handling of a message may take, unless its handler says otherwise."),
        "none",
        "none, or 0 to 86400",
    )
    retries: int = _setting(
        0,
        whole,
        0,
        1000,
        ("How often a message is tried again after an exception, unless its handler says otherwise."),
        "0",
    )
    max_pending: int = _setting(
        1_000_000,
        whole,
        1,
        2**53,
        ("The generator waits while so many messages of a kind are pending. Bounds the server's memory."),
        "1000000",
        "1 to 2^53",
    )
    max_attempts: int = _setting(
        3, whole, 2, 1000, ("Deaths of its handler until a message goes to the error store."), "3"
    )
    max_body: int = _setting(
        16 * 2**20,
        size_in_bytes,
        1,
        256 * 2**20,
        ("Largest body of a message; a larger one is refused when it is published."),
        "16 MB",
        "1 to 256 MB",
    )
    stop_timeout: float = _setting(
        20.0,
        seconds,
        0,
        86400,
        ("From quiet to leaving: how long a stopping instance waits for the message in hand."),
        "20 s",
    )

    def __post_init__(self) -> None:
        if self.lease < 4 * self.heartbeat:
            raise UsageError(
                f"lease ({self.lease:g} s) must be at least 4 times heartbeat ({self.heartbeat:g} s): "
                f"raise --lease or lower --heartbeat."
            )
        if self.claim_lease < self.lease:
            raise UsageError(
                f"claim_lease ({self.claim_lease:g} s) must not be below lease ({self.lease:g} s): raise --claim-lease."
            )

    @property
    def lease_ms(self) -> int:
        return round(self.lease * 1000)

    @property
    def claim_lease_ms(self) -> int:
        return round(self.claim_lease * 1000)

    @property
    def heartbeat_ms(self) -> int:
        return round(self.heartbeat * 1000)

    @property
    def call_timeout(self) -> float:
        """How long a call may go unanswered: below a third of the lease, so that there is time for another."""
        return min(self.lease * 0.3, 5.0)

    def changed(self, **values: Any) -> Self:
        """These settings with others in their place, checked."""
        return replace(self, **{name: check(name, value, f"setting {name}") for name, value in values.items()})


NAMES = tuple(each.name for each in fields(Settings))
"""The settings above; url and namespace are read from the same places, but belong to the connection."""


class Given(TypedDict, total=False):
    """The settings above as they may be written in code, for the type checker. None: nothing is said."""

    lease: float | None
    claim_lease: float | None
    heartbeat: float | None
    batch: int | Literal["auto"] | None
    concurrency: int | None
    timeout: float | Literal["none"] | None
    retries: int | None
    max_pending: int | None
    max_attempts: int | None
    max_body: int | str | None
    stop_timeout: float | None


CONNECTION_NAMES = ("url", "namespace")
KNOWN = (*NAMES, *CONNECTION_NAMES)
OTHER_VARIABLES = ("home", "server", "embedded_linger")
"""Of the embedded server: they begin like settings and are none."""


def about(name: str) -> Mapping[str, Any]:
    """Default, range and meaning of a setting."""
    return next(each.metadata for each in fields(Settings) if each.name == name)


def allowed(name: str) -> str:
    meta = about(name)
    return meta["allowed"] or f"{meta['least']:g} to {meta['most']:g}"


def check(name: str, value: Any, where: str) -> Any:
    """The value of a setting as it should be, or an error that names where it came from."""
    meta = about(name)
    try:
        if isinstance(value, bool):
            raise TypeError(value)  # else `lease = true` would be one second
        parsed = meta["parse"](value)
    except (ValueError, TypeError, OverflowError):
        raise UsageError(f"{where}: {value!r} is not allowed; write {allowed(name)}.") from None
    if not meta["least"] <= parsed <= meta["most"]:
        raise UsageError(f"{where}: {value!r} is out of range; allowed is {allowed(name)}.")
    return parsed


def from_code(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Settings that somebody's program says; None is as if nothing were said.

    Args:
        where: who says it, for the sentence about what is wrong with it.
    """
    for name in values:
        if name not in KNOWN:
            meant = "".join(f"Did you mean {each}? " for each in difflib.get_close_matches(name, KNOWN, n=1))
            raise UsageError(f"{where}: there is no setting {name!r}. {meant}Known are {', '.join(KNOWN)}.")
    return {
        name: check(name, value, f"{where}: {name}") if name in NAMES else _word(value, f"{where}: {name}")
        for name, value in values.items()
        if value is not None
    }


def from_file(path: Path) -> dict[str, Any]:
    """Settings from a TOML file; unknown keys are errors, since a misspelt setting would silently do nothing."""
    text = _read(path)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end of the file"
        raise UsageError(f"{path}: {str(error).replace('at end of document', end)}.") from None
    for name in found:
        if name not in KNOWN:
            raise UsageError(f"{_at(path, text, name)}: unknown setting {name!r}; known are {', '.join(KNOWN)}.")
    return {
        name: check(name, value, where) if name in NAMES else _word(value, where)
        for name, value in found.items()
        for where in [f"{_at(path, text, name)}: {name}"]
    }


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: this is not UTF-8 text ({error.reason}).") from None


def _at(path: Path, text: str, name: str) -> str:
    """The file, and the line in it where a key stands, as far as that can be told: the parser does not."""
    key = re.compile(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*[=.\]]")
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if key.match(line)]
    return f"{path}, line {lines[0]}" if lines else str(path)


def from_environment(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Settings from `SOLOIST_…` variables.

    One that is nearly called like a setting is taken for a misspelt one. Others are left alone: some systems set variables
    of their own that begin so (Kubernetes, for a service that is called soloist).
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for variable in environment:
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if not variable.startswith(ENVIRONMENT_PREFIX) or name in KNOWN or name in OTHER_VARIABLES:
            continue
        for meant in difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.8):
            variables = ", ".join(ENVIRONMENT_PREFIX + each.upper() for each in KNOWN)
            raise UsageError(
                f"environment variable {variable} is not known; is {ENVIRONMENT_PREFIX}{meant.upper()} meant? "
                f"Known are {variables}."
            )
    for name in KNOWN:
        variable = ENVIRONMENT_PREFIX + name.upper()
        if variable in environment:
            raw = environment[variable]
            values[name] = check(name, raw, f"environment variable {variable}") if name in NAMES else raw
    return values


def origin(name: str, config: str | None = None) -> str:
    """Where `gather` has a value from, for messages about it."""
    variable = ENVIRONMENT_PREFIX + name.upper()
    if variable in os.environ:
        return f"environment variable {variable}"
    path = Path(config or FILE)
    return f"{_at(path, _read(path), name)}: {name}"


def gather(config: str | None = None) -> dict[str, Any]:
    """What file and environment say; the flags are the caller's to put on top."""
    path = Path(config) if config else Path(FILE)
    in_file = from_file(path) if config or _is_there(path) else {}
    return {**in_file, **from_environment()}


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # a folder that may not be looked into


def together(values: Mapping[str, Any], place: Callable[[str], str]) -> Settings:
    """Settings of values that came from several places; if they do not fit each other, the places are named.

    Args:
        values: checked each by itself.
        place: where the value of a setting is from.
    """
    try:
        return Settings(**values)
    except UsageError as error:
        names = [name for name in values if re.search(rf"\b{name}\b", str(error))]
        raise UsageError(f"{error} (From {'; '.join(map(place, names))}.)") from None


def _word(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {value!r} must be text.")
    return value
