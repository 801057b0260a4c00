"""Reading README and docs as the contract tests do: code spans, sections, tables, commands."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it, up to the next one."""

    heading: str
    text: str

    @property
    def rows(self) -> list[list[str]]:
        """Its tables' rows as cells."""
        lines = [line for line in self.text.splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


class Document:
    """One Markdown file, which must be there."""

    def __init__(self, name: str) -> None:
        path = ROOT / name
        assert path.is_file(), f"{name} is missing: what it should say cannot be checked"
        self.text = path.read_text()

    @property
    def spans(self) -> list[str]:
        """Everything between backticks in running text and tables."""
        return re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", self.text, flags=re.MULTILINE | re.DOTALL))

    @property
    def sections(self) -> list[Section]:
        parts = re.split(r"^#+ (.+)$", self.text, flags=re.MULTILINE)
        return [Section(heading, text) for heading, text in zip(parts[1::2], parts[2::2], strict=True)]

    def blocks(self, *languages: str) -> list[str]:
        """The code blocks in one of these languages."""
        found = re.findall(r"^ *```(\w*)\n(.*?)^ *```", self.text, flags=re.MULTILINE | re.DOTALL)
        return [block for language, block in found if language in languages]

    def commands(self) -> list[list[str]]:
        """The words after `soloist` of every call of it: in sh blocks, and after a $ in console blocks."""
        lines = [line for block in self.blocks("sh", "bash") for line in _joined(block)]
        lines += [line for block in self.blocks("console") for line in _joined(block) if line.startswith("$ ")]
        calls = (re.fullmatch(r"(?:\$ )?(?:\w+=\S+ )*soloist(?!\S)(.*)", line.strip()) for line in lines)
        return [_words(call[1]) for call in calls if call]


def code_spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def options_in(text: str) -> set[str]:
    """The options that are named in code spans."""
    return {option for span in code_spans(text) for option in re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", span)}


def _joined(block: str) -> list[str]:
    return re.sub(r"\\\n\s*", "", block).splitlines()


def _words(line: str) -> list[str]:
    """The words of one command, up to a comment, a pipe or whatever else ends it."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words: list[str] = []
    for word in reader:
        if set(word) <= set("();<>|&"):
            break
        words.append(word)
    return words
