"""Reading scripts as the contract tests do: header, slots, body and replies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import soloist

FOLDER = Path(soloist.__file__).parent / "store" / "lua"

SECTION = re.compile(r"-- (KEYS|ARGV|REPLY)")
ENTRY = re.compile(r"--   (\S.*)")
CONTINUED = re.compile(r"--     +\S.*")
SLOT = re.compile(r"(KEYS|ARGV)\[(\d+)\]")
ONE_SLOT = re.compile(r"(KEYS|ARGV)\[\d+\]|tonumber\(ARGV\[\d+\]\)|ARGV\[\d+\] == '1'")
TABLE = re.compile(r"\b(KEYS|ARGV)\b")


class Slot(NamedTuple):
    """A local that a position is bound to."""

    table: str
    position: int
    name: str


@dataclass(frozen=True)
class Header:
    """The contract: its purpose, and under each title the entries as they stand there."""

    purpose: list[str]
    titles: list[str]
    entries: dict[str, list[str]]
    strange: list[str]
    """Lines that are neither title nor entry nor the continuation of one: nobody would read them."""

    def names(self, title: str) -> list[str]:
        """The names under a title, without the tail."""
        return [entry.split()[0] for entry in self.entries[title] if not entry.startswith("...")]

    def has_tail(self, title: str) -> bool:
        return any(entry.startswith("...") for entry in self.entries[title])

    @property
    def replies(self) -> list[list[str]]:
        """Each reply as its words: what stands before the first gap of two blanks."""
        return [re.split(r" {2,}", entry)[0].split() for entry in self.entries["REPLY"]]


class Script:
    """One script, taken apart."""

    def __init__(self, text: str) -> None:
        self.shebang, *lines = text.splitlines()
        end = next(at for at, line in enumerate(lines) if not line.startswith("--"))
        self.header = _header(lines[:end])
        is_slots = [*(_is_slots(line) for line in lines[end:]), False].index(False)
        self.block = [uncommented(line) for line in lines[end : end + is_slots]]
        self.body = "\n".join(uncommented(line) for line in lines[end + is_slots :])
        self.includes = re.findall(r"^-- include: (\w+)$", text, re.MULTILINE)

    @property
    def slots(self) -> list[Slot]:
        """What is bound in the block, in its order."""
        return [
            Slot(found[1], int(found[2]), name)
            for name, value in self._bound()
            if ONE_SLOT.fullmatch(value) and (found := SLOT.search(value))
        ]

    @property
    def unclear(self) -> list[str]:
        """Values in the block that take a position in a form that nobody can check."""
        return [value for _, value in self._bound() if SLOT.search(value) and not ONE_SLOT.fullmatch(value)]

    @property
    def argument_tail_numbers(self) -> set[int]:
        """The numbers in the statements of the block that take the tail of ARGV; factors do not count."""
        numbers: set[int] = set()
        for statement in self._statements():
            plain = SLOT.sub("", re.sub(r"'[^']*'", "", statement))
            if re.search(r"\bARGV\b", plain):
                numbers.update(map(int, re.findall(r"\b(\d+)\b(?! \*)", plain)))
        return numbers

    @property
    def key_tail_numbers(self) -> set[int]:
        """The first position of the tail of KEYS, where the body says it, or the block that takes all of it."""
        said = re.findall(r"\bkind_lists\((\w+),", self.body)
        numbers = {int(number) for number in said if number.isdigit()}
        for name in set(said) - {str(number) for number in numbers}:
            numbers.update(int(first) for first in re.findall(rf"local {name}\b[^=\n]*= (\d+)", self.body))
        numbers.update(int(first) for first in re.findall(r"\bunpack\(KEYS, (\d+)\)", "\n".join(self.block)))
        return numbers

    @property
    def answers(self) -> list[list[str]]:
        """The elements of every table that the body returns."""
        return [split(_table_at(self.body, found.end())) for found in re.finditer(r"\breturn \{", self.body)]

    def _statements(self) -> list[str]:
        return [" ".join(part.split()) for part in re.split(r"^local ", "\n".join(self.block), flags=re.MULTILINE)[1:]]

    def _bound(self) -> Iterator[tuple[str, str]]:
        for statement in self._statements():
            names, values = statement.split(" = ", 1)
            if values.startswith("{") and " = " in values:
                for field in split(values[1:-1]):
                    name, value = field.split(" = ", 1)
                    yield name, value
            else:
                yield from zip(names.split(", "), split(values), strict=True)


def scripts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.lua"))}


def libraries() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((FOLDER / "lib").glob("*.lua"))}


def own_lines(text: str) -> int:
    """How many lines a file has without shebang, header and includes."""
    lines = [line for line in text.splitlines() if not line.startswith("-- include:")]
    header = next(at for at, line in enumerate(lines) if not line.startswith(("#!", "--")))
    return len(lines) - header


def uncommented(text: str) -> str:
    return re.sub(r"--.*", "", text)


def split(text: str) -> list[str]:
    """What stands between the commas, those within brackets left alone."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


def _is_slots(line: str) -> bool:
    """Whether a line still belongs to the block of slots: it ends at the first include or blank line."""
    return bool(line.strip()) and not line.startswith("--")


def _header(lines: list[str]) -> Header:
    purpose: list[str] = []
    titles: list[str] = []
    entries: dict[str, list[str]] = {"KEYS": [], "ARGV": [], "REPLY": []}
    strange = []
    for line in lines:
        if line.startswith("-- include:"):
            break
        if found := SECTION.fullmatch(line):
            titles.append(found[1])
        elif not titles:
            purpose += [line[3:]] if line[3:].strip() else []
        elif found := ENTRY.fullmatch(line):
            entries[titles[-1]].append(found[1])
        elif not CONTINUED.fullmatch(line):
            strange.append(line)
    return Header(purpose, titles, entries, strange)


def _table_at(text: str, start: int) -> str:
    """What stands between a brace that was opened and the one that closes it."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start:at]
    raise ValueError("a brace is not closed")
