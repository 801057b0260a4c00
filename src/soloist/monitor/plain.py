"""Without a terminal: a line per event, and the totals every few seconds, until Ctrl-C."""

import queue
import signal
import time
from collections.abc import Callable

from soloist.cli.output import reader_is_gone, write
from soloist.monitor.charts import rate
from soloist.monitor.children import Children
from soloist.monitor.model import Observation, Phase, Processes, Seen, State, Unanswered, farewell, observe
from soloist.monitor.sentences import clock, sentence
from soloist.monitor.watcher import MakeWatcher

EVERY = 5.0
"""Seconds between lines of totals."""
LOOK = 0.25
"""Seconds between looks at the processes, at least."""
GRACE = 5.0
"""Seconds for which processes that were asked to stop may finish."""
INTERRUPTED = 130


class Plain:
    """Tells what the screen would show, as lines.

    Attributes:
        state: what is known; the same model as the screen's.
    """

    def __init__(self, state: State, tell: Callable[[str], None]) -> None:
        self.state = state
        self._tell = tell
        self._totals_at = -EVERY  # the first at once

    def observe(self, observed: Observation) -> None:
        """Tell what is new in it."""
        before, self.state = self.state, observe(self.state, observed)
        if isinstance(observed, Seen):
            if before.away:
                self._line(observed.wall, "server is back")
            if before.snapshot is not None:  # what happened before we came is not told
                for entry in observed.entries:
                    self._line(entry.at_ms / 1000, sentence(entry, self.state.numbers).text)
            self._tell_totals(observed)
        elif isinstance(observed, Unanswered) and not before.away:
            self._line(observed.wall, f"server away: {observed.reason}")
        elif isinstance(observed, Processes):
            self._tell_ends(before, observed)

    def _tell_ends(self, before: State, observed: Processes) -> None:
        over = {child.pid for child in before.children if child.phase is Phase.ENDED}
        for child in observed.children:
            if child.phase is Phase.ENDED and child.pid not in over and farewell(child):
                self._line(time.time(), farewell(child))

    def _tell_totals(self, seen: Seen) -> None:
        if seen.at - self._totals_at < EVERY:
            return
        self._totals_at = seen.at
        shot, rates = seen.snapshot, self.state.rates
        generator = next(
            (f"#{each.number} generates" for each in shot.instances if each.role == "generator"), "nobody generates"
        )
        self._tell(
            f"          {generator}, {len(shot.instances)} instances; published {shot.published:,} ({rate(rates.published)}/s), "
            f"pending {shot.pending:,}, handled {shot.completed + shot.failed:,} ({rate(rates.handled)}/s), "
            f"errors {shot.errors:,}\n"
        )

    def _line(self, wall: float, text: str) -> None:
        self._tell(f"{clock(wall)}  {text}\n")


def run(state: State, children: Children, make_watcher: MakeWatcher, instances: int) -> int:
    """Until Ctrl-C, SIGTERM, or until nobody reads any more; answers the exit code."""
    news: queue.SimpleQueue[Observation | int] = queue.SimpleQueue()  # may be put into by a signal handler
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: news.put(received))
    watcher = make_watcher(news.put)
    plain = Plain(state, write)
    write(f"namespace {state.scope.namespace} on {state.scope.where}; Ctrl-C ends everything that was started here\n")
    children.changed = watcher.hurry
    for _ in range(instances):
        children.start()
    watcher.start()
    looked = 0.0
    while not isinstance(told := _next(news), int):
        if told is not None:
            plain.observe(told)
        if time.monotonic() - looked >= LOOK:
            looked = time.monotonic()
            plain.observe(Processes(looked, children.states()))
        if reader_is_gone():
            return 0
    watcher.stop()
    write("ending …\n")
    children.stop_all()
    give_up = time.monotonic() + GRACE
    while not children.is_over and time.monotonic() < give_up:
        if isinstance(_next(news), int):
            break  # asked again: at once
    return INTERRUPTED if told == signal.SIGINT else 0


def _next(news: "queue.SimpleQueue[Observation | int]") -> Observation | int | None:
    """What comes next, if anything comes soon."""
    try:
        return news.get(timeout=LOOK)
    except queue.Empty:
        return None
