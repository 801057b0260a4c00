"""A result as lines for a terminal."""

import textwrap
from collections.abc import Sequence

from soloist.bench.result import Result

WIDE = 80


def table(result: Result) -> str:
    """Title, figures, what they rest on."""
    cells = [[column.title for column in result.columns]]
    cells += [[column.shown(row) for column in result.columns] for row in result.rows]
    lines = _aligned(cells)
    if len(lines[0]) > WIDE:
        lines = _aligned(list(zip(*cells, strict=True)))
    facts = [f"{name.replace('_', ' ')}: {value:,}" for name, value in result.new_facts.items()]
    return "\n".join([result.title, "", *lines, "", *facts, _about(result), _verdict(result)]).rstrip() + "\n"


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def _about(result: Result) -> str:
    return textwrap.fill(", ".join(f"{name} {value}" for name, value in result.about.items()), WIDE)


def _verdict(result: Result) -> str:
    return "" if result.is_sound else "Verdict: messages were lost or handled twice."
