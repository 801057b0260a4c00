"""The sender: numbers the pages of all sources and publishes them, one after another.

One call at a time: while the outcome of one is unknown, all wait. Before each call it looks at its own clock: it stops by
itself before the others may judge that its term is over, and goes on when a beat has renewed it. Frozen between that look
and the call, it is refused by the script.
"""

import threading
import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from soloist.errors import Unavailable
from soloist.runtime.pages import Sheet
from soloist.runtime.patience import Patience
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.ticks import TickSheet
from soloist.schedules.schedule import Overlap
from soloist.store.link import Link
from soloist.store.messages import Busy, Full, PageCall, publish
from soloist.store.replies import Superseded, TermOver

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

FULL_WAIT = 0.05


class Outcome(Enum):
    """What became of a page."""

    ACCEPTED = auto()
    BUSY = auto()
    """A run of its schedule is not over; nothing was published."""
    FULL = auto()
    """Too many wait; nothing was published."""
    OVER = auto()
    """The term is over; whether it was published is unknown, and somebody else's to know."""


@dataclass(frozen=True)
class Tick:
    """Which tick a page is of.

    Attributes:
        at_ms: the last one that is done with then.
        overlap: of a schedule: what becomes of it while a run is not over.
        skipped: ticks of a schedule before it that are not made up for.
    """

    at_ms: int
    overlap: Overlap = "allow"
    skipped: int = 0


class Sender:
    """Publishes for the generator.

    Args:
        until: stop at this sequence number, None for never.
    """

    def __init__(self, instance: "Instance", until: int | None = None) -> None:
        self._instance = instance
        self._until = until
        self._link = Link(instance.server, instance.settings.call_timeout)
        self._patience = Patience("generator", instance.outage)
        self._lock = threading.Lock()

    def hang_up(self) -> None:
        """All terms are over, and no other comes: leave no connection behind."""
        self._link.interrupt()
        with self._lock:
            self._link.close()

    def room(self, term: PlayedTerm, most: int) -> int:
        """How many messages may still come, up to so many."""
        return most if self._until is None else max(0, min(most, self._until - term.seq))

    def publish(self, term: PlayedTerm, source: str, sheet: Sheet, tick: int) -> bool:
        """Until it is known to be accepted; False if the term is over."""
        while (outcome := self.offer(term, source, sheet, Tick(tick))) is Outcome.FULL:
            term.wait_until_over(FULL_WAIT)
        return outcome is Outcome.ACCEPTED

    def offer(self, term: PlayedTerm, source: str, sheet: Sheet | TickSheet, tick: Tick) -> Outcome:
        """Until its outcome is known. If too many wait, the call number is not used: others may publish where there is room."""
        with self._lock:
            # kill point: between source and publish
            first = term.seq + 1
            envelopes = sheet.envelopes(first, term.tag, int(self._instance.clock.now_ms()))
            page = PageCall(
                term=term.number,
                call=term.call + 1,
                first=first,
                source=source,
                envelopes=envelopes,
                cursor=sheet.cursor,
                tick=tick.at_ms,
                overlap="wait" if tick.overlap == "queue" else tick.overlap,
                skipped=tick.skipped,
            )
            outcome = self._send(term, page, sheet.many)
            if outcome is Outcome.OVER:
                self._patience.ended()
            return outcome

    def _send(self, term: PlayedTerm, page: PageCall, messages: int) -> Outcome:
        instance = self._instance
        is_known = True
        while term.wait_until_permitted():
            sent, sent_at = time.monotonic(), time.time_ns() // 1_000_000
            # kill point: between clock check and publish
            try:
                publish(self._link, instance.keys, term.incarnation.id, instance.settings, page)
            except Full:
                self._patience.well()
                if is_known:
                    return Outcome.FULL
                # A late copy of this very call may still arrive: no other page may have its number.
                term.wait_until_over(FULL_WAIT)
            except Busy:
                self._patience.well()
                term.published(page.call, 0, sent, instance.settings.lease)
                return Outcome.BUSY
            except TermOver as superseded:
                instance.lose_term(term, superseded.what)
            except Superseded as superseded:
                instance.be_reborn(term.incarnation, superseded.what)
            except Unavailable as error:
                is_known = is_known and error.refused
                term.wait_until_over(self._patience.failed(error))
            else:
                self._patience.well()
                term.published(page.call, messages, sent, instance.settings.lease)
                if messages:
                    instance.events.count_generated(term.number, term.seq, messages, at=sent_at)
                return Outcome.ACCEPTED
        return Outcome.OVER
