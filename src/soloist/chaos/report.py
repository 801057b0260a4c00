"""The report of a run: its verdict, and the timeline of what was done to whom and what came of it."""

from html import escape

from soloist.chaos.told import again
from soloist.chaos.trial import Outcome
from soloist.chaos.wish import Wish
from soloist.lab.html import rows_of
from soloist.timeline.faults import role_of
from soloist.timeline.model import FaultShown
from soloist.timeline.page import page as timeline_page
from soloist.timeline.reading import timeline_of

COUNTS = ("published", "completed", "failed", "lost", "duplicated", "unexpected", "recovered", "overlapping_terms")
AT_ONCE_MS = 50
"""What was over as soon is shown as a moment."""


def page(wish: Wish, outcome: Outcome) -> str:
    """The whole page."""
    entries = outcome.entries
    times = [entry.at_ms for entry in entries] + [hit.at_ms for hit in outcome.hits]
    timeline = timeline_of(
        entries,
        outcome.samples,
        title=f"soloist chaos, seed {wish.seed}",
        begun_ms=min(times),
        ended_ms=max(times),
        faults=[
            FaultShown(
                hit.kind,
                hit.at_ms,
                hit.ended_ms if role_of(hit.kind) or hit.ended_ms - hit.at_ms > AT_ONCE_MS else None,
                str(hit.pid) if hit.pid else None,
                hit.told,
            )
            for hit in outcome.hits
        ],
    )
    return timeline_page(timeline, intro_html=_intro(outcome), sections_html=_sections(wish, outcome))


def _intro(outcome: Outcome) -> str:
    verdict = outcome.verdict
    if verdict.is_ok:
        said = "<p><strong>Verdict: ok.</strong> Nothing was lost or doubled.</p>"
    else:
        wrong = "".join(f"<li>{escape(each)}</li>" for each in verdict.wrong)
        said = f'<p class="bad">Verdict: not ok.</p><ul>{wrong}</ul>'
    return said + rows_of(
        [
            [name.replace("_", " ") for name in COUNTS],
            [f"{getattr(verdict, name):,}" for name in COUNTS],
        ]
    )


def _sections(wish: Wish, outcome: Outcome) -> str:
    takeovers = [["takeover after", "p50, ms", "p99, ms", "worst, ms", "calm ones", "left out"]]
    for kind, of in outcome.verdict.takeovers.items():
        takeovers.append([kind, *(f"{each:,}" for each in (of.p50, of.p99, of.max, of.samples, of.left_out))])
    faults = [["fault", "how often"], *([kind, f"{many}"] for kind, many in sorted(outcome.faults.items()))]
    figures = rows_of(takeovers) if outcome.verdict.takeovers else ""
    return f"<h2>Figures</h2>{figures}{rows_of(faults)}<p>Again: <code>{escape(again(wish))}</code></p>"
