"""A page of its own: one file, no script, nothing fetched, light or dark as the reader has it."""

from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --dim: #667085; --paper: #fff; --line: #e3e7ee; --one: #2f6fde; --other: #9aa7bd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --dim: #98a2b3; --paper: #14181f; --line: #2b323d; --one: #6ea0ff; --other: #566074; }
}
body { font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
p { margin: .25rem 0 1rem; max-width: 46rem; } .dim { color: var(--dim); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .75rem 0; }
th, td { text-align: right; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; font-size: .85rem; color: var(--dim); }
svg { display: block; width: 100%; max-width: 46rem; height: auto; margin: .5rem 0 1rem; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); } svg .dim { fill: var(--dim); }
svg .one { fill: var(--one); } svg .other { fill: var(--other); }
.bad { color: #c4302b; font-weight: 600; }
"""


def document(title: str, body: str, *, style: str = "") -> str:
    """The whole page; with more style, if it needs it."""
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}{style}</style>\n{body}\n</html>\n"
    )


def rows_of(cells: list[list[str]]) -> str:
    """A table; the first row is its head."""
    head, *rest = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in _tagged(cells)]
    body = "".join(f"<tr>{row}</tr>" for row in rest)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _tagged(cells: list[list[str]]) -> list[tuple[str, list[str]]]:
    return [("td" if at else "th", row) for at, row in enumerate(cells)]
