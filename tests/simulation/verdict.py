"""Whether a history kept all promises: the books against what is in Redis in the end. Pure."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.simulation.ledger import Ledger
from tests.simulation.plan import Plan

JOBS_SOURCE, JOBS_MS = "schedule:jobs", 700
"""The schedule of the App, and the distance of its ticks."""


@dataclass(frozen=True)
class End:
    """What is in Redis when everything has healed, all is done, and everybody who lived has left.

    Attributes:
        waiting: ids of messages that are pending, delayed, suspects or claimed.
        done: ids of completed messages, as they were written along with the completion; summed: the sum of the same.
        errors: ids in the error store, and in the hands of drainers.
        settled: how long it took until nothing was left to do; None: it never was.
        present: incarnations that are still there.
        open_streams: connections that somebody left behind.
    """

    totals: dict[str, int]
    waiting: list[str]
    seq: int
    cursor: int
    done: list[str]
    summed: int
    errors: list[str]
    settled: float | None
    present: list[str]
    open_streams: list[str]


def judge(plan: Plan, ledger: Ledger, end: End) -> list[str]:
    """All that is wrong; nothing, if all is well."""
    return [*ledger.wrong, *_unsettled(plan, end), *_messages(plan, ledger, end), *_publication(plan, ledger, end),
            *_work(plan, ledger), *_errors(plan, ledger, end), *_departures(plan, end)]  # fmt: skip


def _unsettled(plan: Plan, end: End) -> Iterator[str]:
    if end.settled is None:
        yield f"never settled: {len(end.waiting)} wait, cursor {end.cursor} of {plan.messages}"


def _messages(plan: Plan, ledger: Ledger, end: End) -> Iterator[str]:
    """Lost, duplicated, unexpected."""
    done, failed = Counter(end.done), Counter([*end.errors, *ledger.removed.elements()])
    waiting = Counter(end.waiting)
    for ident in ledger.bodies:
        outcomes = done[ident] + failed[ident]
        if outcomes + waiting[ident] == 0:
            yield f"lost: {ident} ({ledger.bodies[ident]})"
        if outcomes + waiting[ident] > 1:
            yield f"duplicated: {ident} ({ledger.bodies[ident]}) is {done[ident]} times completed, {failed[ident]} times failed, and waits {waiting[ident]} times"
    for ident in (done | failed | waiting).keys() - ledger.bodies.keys():
        yield f"unexpected: {ident}"
    totals = {name: end.totals.get(name, 0) for name in ("published", "completed", "failed")}
    right = {"published": len(ledger.bodies), "completed": len(end.done), "failed": sum(failed.values())}
    if totals != right:
        yield f"the totals are {totals}, right is {right}"
    if end.summed != sum(value_of(ledger.bodies.get(ident, "")) for ident in end.done):
        yield f"the sum that was written along is {end.summed}, of {len(end.done)} completed"
    handed_on = Counter(body.removeprefix("more of ") for body in ledger.bodies.values() if body.startswith("more of "))
    expected = Counter(ident for ident in end.done if hands_on(plan, ledger.bodies.get(ident, "")))
    if handed_on != expected:
        yield f"handed on were {handed_on - expected} too much, {expected - handed_on} too little"


def value_of(body: str) -> int:
    """What a message adds to the sum: the number in it."""
    return int("".join(letter for letter in body if letter.isdigit()) or 0)


def hands_on(plan: Plan, body: str) -> bool:
    return behaviour(plan, body) == "hands on"


def behaviour(plan: Plan, body: str) -> str:
    """What a handler does with a message: the same wherever and whenever it is handled."""
    if not body or body.startswith("more"):  # of the schedule, or handed on
        return "quick"
    number = value_of(body)
    if body.startswith("page") and number == plan.poison:
        return "poison"
    odd = (number * 7919 + plan.seed * 104729 + len(body)) % 1000
    if odd >= plan.oddities * 1000:
        return "quick"
    chosen = ("slow", "very slow", "rejects", "retries", "hands on", "raises")[odd % 6]
    return "rejects" if plan.lane == "batch" and chosen in ("retries", "raises") else chosen  # a batch fails as a whole


def _publication(plan: Plan, ledger: Ledger, end: End) -> Iterator[str]:
    """Gaps, order, cursor, rhythm."""
    numbers = [number for page in ledger.pages for number in range(page.first, page.first + len(page.ids))]
    if numbers != list(range(1, end.seq + 1)):
        yield f"the numbers {numbers} are not those up to {end.seq}"
    pages = [ledger.bodies[ident] for page in ledger.pages if page.source == "pages" for ident in page.ids]
    expected = [f"page {number}" for number in range(plan.messages)]
    if pages != expected[: len(pages)] or (end.settled is not None and len(pages) != plan.messages):
        yield f"gap or repeat in what the cursor tells: {pages}"
    if end.settled is not None and end.cursor != plan.messages:
        yield f"the cursor is {end.cursor}"
    ticks = [page.tick for page in ledger.pages if page.source == "ticks"]
    if not plan.bends_time:
        strange = [tick for before, tick in pairwise(ticks) if tick <= before or (tick - before) % 300]
        if strange:
            yield f"out of rhythm: {strange} of {ticks}"
    jobs = [tick for page in ledger.pages if page.source == JOBS_SOURCE for tick in page.ticks]
    if any(after - before != JOBS_MS for before, after in pairwise(jobs)):
        yield f"ticks of the schedule are missing or repeated: {jobs}"


def _work(plan: Plan, ledger: Ledger) -> Iterator[str]:
    """Nobody begins with what it was not given, and nothing is begun again without need."""
    if plan.mode != "back":
        for (process, ident), times in ledger.starts.items():
            if times > ledger.claims[process, ident]:
                given = ledger.claims[process, ident]
                yield f"{process} began {times} times with {ident}, which it was given {given} times"
    if plan.mode == "mild":
        if ledger.reclaims:
            yield f"{ledger.reclaims} needless reclaims"
        for now, process, event, fields in ledger.told:
            if event == "superseded":
                yield f"{process} was superseded without need at {now:.3f} s: {fields}"
        for ident, times in ledger.begun.items():
            retried = behaviour(plan, ledger.bodies.get(ident, "")) in ("retries", "raises")
            if times > 1 + retried:
                yield f"{ident} was begun {times} times without need"


def _errors(plan: Plan, ledger: Ledger, end: End) -> Iterator[str]:
    """Removed once, and printed before."""
    for ident, times in ledger.removed.items():
        if times > 1:
            yield f"the error record of {ident} was removed {times} times"
    expected = {
        ident for ident, body in ledger.bodies.items() if behaviour(plan, body) in ("rejects", "raises", "poison")
    }
    failed = {*end.errors, *ledger.removed}
    innocent = {ident for ident in failed - expected if ledger.times_claimed(ident) >= plan.max_attempts}
    if end.settled is not None and failed - innocent != expected:
        yield f"failed: {sorted(failed)}, right is {sorted(expected)}"
    printed = Counter(ident for _, ident in ledger.printed)
    if plan.mode == "mild" and any(times > 1 for times in printed.values()):
        yield f"printed twice without need: {[ident for ident, times in printed.items() if times > 1]}"


def _departures(plan: Plan, end: End) -> Iterator[str]:
    if end.present and not any(fault.script == "join" for fault in plan.faults):  # a late copy makes a presence
        yield f"still present: {end.present}"
    if end.open_streams:
        yield f"connections were left behind: {end.open_streams}"
