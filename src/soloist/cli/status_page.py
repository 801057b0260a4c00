"""The snapshot for people: 80 columns, ages and rates in words. Pure: from what the Inspector saw to lines of text."""

from collections.abc import Callable, Sequence

from soloist.cli.output import harmless
from soloist.durations import duration
from soloist.health import Finding
from soloist.inspector import InstanceSnapshot, Snapshot
from soloist.store.history import Sample

SILENT = 1.5
"""Seconds without a beat after which an instance may be frozen, or cut off."""

RATE_OVER = 10
"""Seconds over which a rate is taken."""

Style = Callable[[str, str], str]
"""Gives a text its tone: bold, good, bad or dim."""


def plain(text: str, _tone: str) -> str:
    return text


def page(seen: Snapshot, history: Sequence[Sample], found: Sequence[Finding] = (), style: Style = plain) -> str:
    """All of it."""
    return "\n".join([*_head(seen, history, style), "", *_table(seen, style), *_foot(seen, found, style)]) + "\n"


def _head(seen: Snapshot, history: Sequence[Sample], style: Style) -> list[str]:
    many = len(seen.instances)
    there = "no instance" if not many else "1 instance" if many == 1 else f"{many} instances"
    lines = [
        style(f"namespace {seen.namespace}", "bold") + f", App {_harmless(seen.app)}",
        f"{there}, {_term(seen)}",
        (
            f"published {seen.published:,} = pending {seen.pending:,} + claimed {seen.claimed:,} "
            f"+ completed {seen.completed:,} + failed {seen.failed:,}"
        ),
        (
            f"errors at rest {seen.errors:,}   reclaimed {seen.reclaimed:,}   "
            f"superseded {sum(seen.superseded.values()):,}   oldest pending {duration(seen.oldest_pending_ms)}"
        ),
    ]
    speed = rates(history)
    if speed is not None:
        lines.append(f"{_per_second(speed[0])} published, {_per_second(speed[1])} handled")
    return lines


def rates(history: Sequence[Sample]) -> tuple[float, float] | None:
    """Published and handled a second, over the last while; None where there is no history of it."""
    recent = [sample for sample in history if history[-1].at_ms - sample.at_ms <= RATE_OVER * 1000]
    if len(recent) < 2:
        return None
    first, last = recent[0], recent[-1]
    seconds = (last.at_ms - first.at_ms) / 1000
    handled = last.completed + last.failed - first.completed - first.failed
    return (last.published - first.published) / seconds, max(0, handled) / seconds


def _per_second(rate: float) -> str:
    if rate == 0:
        return "none"
    return f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second"


def _term(seen: Snapshot) -> str:
    if seen.term is None:
        return f"nobody has generated for {duration(seen.vacant_ms)}" if seen.vacant_ms else "nobody generates"
    number = next((f"#{each.number}" for each in seen.instances if each.id == seen.term.instance), "one that is silent")
    return f"{number} has generated for {duration(seen.term.since_ms)} (term {seen.term.number})"


def _table(seen: Snapshot, style: Style) -> list[str]:
    titles = (
        f" {'#':>4}  {'role':<10}{'host':<11}{'pid':>8}{'generated':>11}{'handled':>10}{'errors':>7}{'holds':>6}  heard"
    )
    return [style(titles, "dim"), *(_row(each, seen, style) for each in seen.instances)]


def _row(each: InstanceSnapshot, seen: Snapshot, style: Style) -> str:
    mark = ">" if each.id in seen.line else " "
    role = style(f"{each.role:<10}", "good") if each.role == "generator" else f"{each.role:<10}"
    failed = f"{each.failed:>7,}"
    silent = each.heard_ms > SILENT * 1000
    heard = style(f"{duration(each.heard_ms)}?", "bad") if silent else duration(each.heard_ms)
    return (
        f"{mark}{each.number:>4}  {role}{_harmless(each.host)[:10]:<11}{each.pid:>8}{each.generated:>11,}"
        f"{each.completed + each.failed:>10,}{style(failed, 'bad') if each.failed else failed}{each.claimed:>6,}  {heard}"
    )


def _foot(seen: Snapshot, found: Sequence[Finding], style: Style) -> list[str]:
    lines = []
    if seen.line:
        lines.append(style("> in line to generate next", "dim"))
    if seen.rests:
        lines.append(f"paused: {', '.join(map(_harmless, seen.rests))}")
    return [*lines, *(f"{style(finding.code, 'bad')}: {finding.says}" for finding in found)]


def stacks(seen: Snapshot) -> str:
    """What each handler is doing now, and where the code of those is that take long."""
    lines: list[str] = []
    for each in seen.instances:
        who = f"#{each.number} ({_harmless(each.host)}, process {each.pid})"
        if each.doing is None:
            holds = f"holds {each.claimed:,}, none of them in hand for long" if each.claimed else "holds nothing"
            lines.append(f"{who} {holds}")
            continue
        lines.append(f"{who} has worked on {_harmless(each.doing.message)} for {duration(each.doing.for_ms)}")
        lines += [f"    {_harmless(line)}" for line in each.doing.stack.splitlines()]
    return "\n".join(lines) + "\n"


def _harmless(text: str) -> str:
    return harmless(text.encode(errors="surrogateescape"))
