"""What a scenario found: rows of figures, with what is needed to print and to draw them."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FAULTS = ("lost", "duplicated")
"""Figures that must be 0."""


@dataclass(frozen=True)
class Column:
    """One figure of every row.

    Attributes:
        name: in JSON.
        title: for people, with the unit.
        form: how it is written.
    """

    name: str
    title: str
    form: str = ",.0f"

    def shown(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.name)
        if value is None:
            return "–"
        return value if isinstance(value, str) else format(value, self.form)


@dataclass(frozen=True)
class Result:
    """One scenario's.

    Attributes:
        method: how it was measured, in a sentence or two.
        rows: the figures; the first column says which row it is.
        charts: the columns that are drawn, each as bars beside the first column.
        about: the environment in which it was measured.
        facts: what is said in JSON beside the rows.
        is_sound: nothing was lost, doubled or missed.
    """

    scenario: str
    title: str
    method: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    charts: Sequence[str]
    about: Mapping[str, str]
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_sound: bool = True

    @property
    def new_facts(self) -> dict[str, float]:
        """The numbers among the facts that the rows do not tell."""
        told = self.rows[0]
        return {
            name: value for name, value in self.facts.items() if name not in told and isinstance(value, int | float)
        }


def middle(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row of several of the same kind: the median of each figure, and the sum of what must not be at all."""
    together: dict[str, Any] = {}
    for name, first in samples[0].items():
        values = [sample[name] for sample in samples if sample[name] is not None]
        if not values or isinstance(first, str):
            together[name] = first
        elif name in FAULTS:
            together[name] = sum(values)
        else:
            median = statistics.median(values)
            together[name] = round(median) if isinstance(values[0], int) else round(median, 3)
    return together


def are_sound(rows: Sequence[Mapping[str, Any]]) -> bool:
    return not any(row.get(fault) for row in rows for fault in FAULTS)


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that is not below so large a share of them."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
