"""Samples become rows, rows become the table or JSON. No measuring here."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from measure import Sample

COLUMNS = (
    "system",
    "workers",
    "messages",
    "seconds",
    "messages/s",
    "least–most",
    "server µs",
    "client µs",
    "soloist is",
)


@dataclass
class Row:
    """One system with one number of workers."""

    system: str
    workers: int
    samples: list[Sample] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(sample.rate for sample in self.samples)

    def figures(self, ours: float | None) -> dict[str, object]:
        """Medians; `ours` is the rate of soloist with as many handlers."""
        rates = [sample.rate for sample in self.samples]
        return {
            "system": self.system,
            "workers": self.workers,
            "messages": self.samples[0].messages,
            "seconds": statistics.median(sample.seconds for sample in self.samples),
            "rate": self.rate,
            "rate_least": min(rates),
            "rate_most": max(rates),
            "server_cpu_us_per_message": statistics.median(sample.server_us for sample in self.samples),
            "client_cpu_us_per_message": statistics.median(sample.client_us for sample in self.samples),
            "soloist_ratio": None if ours is None else ours / self.rate,
            "samples": [asdict(sample) for sample in self.samples],
        }


def figures(rows: Sequence[Row], ours: str) -> list[dict[str, object]]:
    """Every row that was measured, compared with the system called `ours`."""
    rates = {row.workers: row.rate for row in rows if row.system == ours and row.samples}
    return [row.figures(rates.get(row.workers)) for row in rows if row.samples]


def table(told: Sequence[Mapping[str, object]], left_out: Mapping[str, str]) -> str:
    """For people: one line a row, and at its end whoever is missing, with the reason."""
    lines = [COLUMNS, *(_cells(row) for row in told)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    widths[0] = max(widths[0], *map(len, left_out), 0)
    text = [
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(both))
        for both in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*text, *(f"{name.ljust(widths[0])}  left out: {reason}" for name, reason in left_out.items())])


def _cells(row: Mapping[str, object]) -> tuple[str, ...]:
    ratio = row["soloist_ratio"]
    return (
        str(row["system"]),
        str(row["workers"]),
        f"{row['messages']:,}",
        f"{row['seconds']:.2f}",
        f"{row['rate']:,.0f}",
        f"{row['rate_least']:,.0f}–{row['rate_most']:,.0f}",
        f"{row['server_cpu_us_per_message']:.1f}",
        f"{row['client_cpu_us_per_message']:.1f}",
        "" if ratio is None else f"{ratio:.1f} ×",
    )
