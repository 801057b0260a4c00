"""The report: a page with the figures, their charts, and the environment in which they were taken."""

from collections.abc import Sequence
from html import escape

from soloist.bench.charts import Bars, chart
from soloist.bench.result import Column, Result
from soloist.lab.html import document, rows_of


def page(results: Sequence[Result]) -> str:
    """All results, one below the other."""
    about = results[0].about
    title = f"soloist bench: {', '.join(result.scenario for result in results)}"
    intro = f'<h1>{escape(title)}</h1>\n<p class="dim">{escape(about["server"])}, {escape(about["taken"])}</p>'
    sections = "\n".join(_section(result) for result in results)
    environment = rows_of([["environment", ""], *([name, value] for name, value in about.items())])
    return document(title, f"{intro}\n{sections}\n<h2>Environment</h2>\n{environment}")


def _section(result: Result) -> str:
    cells = [[column.title for column in result.columns]]
    cells += [[column.shown(row) for column in result.columns] for row in result.rows]
    labels = [result.columns[0].shown(row) for row in result.rows]
    charts = "".join(chart(labels, [_bars(result, column) for column in group]) for group in _groups(result))
    facts = [[name.replace("_", " "), f"{value:,}"] for name, value in result.new_facts.items()]
    verdict = "" if result.is_sound else '<p class="bad">Messages were lost or handled twice.</p>'
    return f"<h2>{escape(result.title)}</h2>\n<p>{escape(result.method)}</p>\n{verdict}{charts}\n{rows_of(cells)}" + (
        rows_of([["in short", ""], *facts]) if facts else ""
    )


def _groups(result: Result) -> list[list[Column]]:
    """The columns that are drawn; those of one unit together."""
    columns = [next(column for column in result.columns if column.name == name) for name in result.charts]
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.title.rpartition(", ")[2], []).append(column)
    return list(groups.values())


def _bars(result: Result, column: Column) -> Bars:
    return Bars(column.title, [row.get(column.name) for row in result.rows], [column.shown(row) for row in result.rows])
