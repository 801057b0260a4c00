"""Draw the charts of docs/benchmarks.md from what was measured.

soloist bench instances size … --json > figures.jsonl
python tools/draw_benchmarks.py figures.jsonl docs/images
"""

import json
import sys
from pathlib import Path
from typing import Any

from soloist.bench.charts import Bars, chart

CHARTS = {
    "instances": ("handlers", {"rate": "messages a second"}, "{:,} handlers"),
    "size": ("bytes", {"mb_per_second": "MB a second", "floor_mb_per_second": "the floor"}, "{:,} bytes"),
    "durability": ("append_only_file", {"rate": "messages a second", "floor_rate": "the floor"}, "{}"),
    "window": ("batch", {"rate": "messages a second"}, "batch {}"),
    "backlog": ("pending", {"cpu_us_per_message": "processor time, µs a message"}, "{:,} pending"),
}
"""Of each scenario: what tells the rows apart, what is drawn, how a row is called."""


def draw(found: dict[str, Any]) -> str:
    label, drawn, form = CHARTS[found["scenario"]]
    rows = found["rows"]
    figures = [
        Bars(title, [row[name] for row in rows], [f"{row[name]:,}" for row in rows]) for name, title in drawn.items()
    ]
    return chart([form.format(row[label]) for row in rows], figures, alone=True)


def main() -> None:
    """A file per scenario."""
    source, folder = map(Path, sys.argv[1:])
    for line in source.read_text().splitlines():
        found = json.loads(line)
        if found["scenario"] in CHARTS:
            (folder / f"bench-{found['scenario']}.svg").write_text(draw(found) + "\n")


if __name__ == "__main__":
    main()
