"""Scripts: one `.lua` file per transition. Its header is its contract, and calls are laid out by it.

A caller passes keys and arguments by name; the header says in which order they go. So a wrapper cannot disagree with
its script about positions, and one that disagrees about names fails at its first call. tests/test_contracts.py
compares header, slots in the body and wrappers.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

from soloist.store.link import Link

INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)
SECTION = re.compile(r"^-- (KEYS|ARGV|REPLY)$")
ENTRY = re.compile(r"^--   (\S+)")

Value: TypeAlias = str | bytes | int


class Script:
    """One transition: its text with the includes in place, its digest, and the names in its header."""

    def __init__(self, name: str) -> None:
        self.name = name
        source = _read(f"{name}.lua")
        self.text = INCLUDE.sub(lambda found: _read(f"lib/{found[1]}.lua").rstrip(), source)
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        sections = header(source)
        self.keys = [entry for entry in sections["KEYS"] if entry != "..."]
        self.args = [entry for entry in sections["ARGV"] if entry != "..."]
        self.replies = sections["REPLY"]

    def call(
        self,
        link: Link,
        keys: Mapping[str, str],
        args: Mapping[str, Value],
        more_keys: Sequence[str] = (),
        more_args: Sequence[Value] = (),
    ) -> list[Any]:
        """Run it once. The answer is a list that begins with a word of the contract."""
        return self.begin(link, keys, args, more_keys, more_args)()

    def begin(
        self,
        link: Link,
        keys: Mapping[str, str],
        args: Mapping[str, Value],
        more_keys: Sequence[str] = (),
        more_args: Sequence[Value] = (),
    ) -> Callable[[], list[Any]]:
        """Send the call; what is answered waits for its answer. Nothing else may go over the link meanwhile."""
        if len(keys) != len(self.keys) or len(args) != len(self.args):
            raise TypeError(f"{self.name}.lua takes {self.keys} and {self.args}, not {list(keys)} and {list(args)}")
        ordered = [keys[name] for name in self.keys]
        values = [args[name] for name in self.args]
        # kill point: before {self.name}
        receive = link.begin_script(self.sha, self.text, [*ordered, *more_keys], [*values, *more_args])

        def answer() -> list[Any]:
            received = receive()
            # kill point: after {self.name}
            return received  # noqa: RET504 - the point above lies between the two

        return answer


def header(source: str) -> dict[str, list[str]]:
    """The first word of every entry under KEYS, ARGV and REPLY in a script's header."""
    sections: dict[str, list[str]] = {"KEYS": [], "ARGV": [], "REPLY": []}
    current: list[str] | None = None
    for line in source.splitlines():
        if not line.startswith("--"):
            if current is not None:
                break
            continue
        if found := SECTION.match(line):
            current = sections[found[1]]
        elif current is not None and (entry := ENTRY.match(line)) and not line.startswith("--     "):
            current.append(entry[1])
    return sections


@cache
def _read(name: str) -> str:
    return resources.files("soloist.store").joinpath("lua", name).read_text()
