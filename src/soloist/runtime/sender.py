"""The sender: numbers the pages of all sources and publishes them, one after another.

One call at a time: while the outcome of one is unknown, all wait. Before each call it looks at its own clock: it stops by
itself before the others may judge that its term is over, and goes on when a beat has renewed it. Frozen between that look
and the call, it is refused by the script.
"""

import threading
import time
from typing import TYPE_CHECKING

from soloist.errors import Unavailable
from soloist.runtime.pages import Sheet
from soloist.runtime.patience import Patience
from soloist.runtime.played_term import PlayedTerm
from soloist.store.link import Link
from soloist.store.messages import Full, PageCall, publish
from soloist.store.replies import Superseded, TermOver

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

FULL_WAIT = 0.05


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
        while (is_accepted := self._publish(term, source, sheet, tick)) is None:
            term.wait_until_over(FULL_WAIT)
        return is_accepted

    def _publish(self, term: PlayedTerm, source: str, sheet: Sheet, tick: int) -> bool | None:
        """None if too many wait: the call number is not used, so others may publish what there is room for."""
        with self._lock:
            # kill point: between source and publish
            first = term.seq + 1
            envelopes = sheet.envelopes(first, term.tag, int(self._instance.clock.now_ms()))
            page = PageCall(term.number, term.call + 1, first, source, envelopes, sheet.cursor, tick)
            is_accepted = self._send(term, page, sheet.many)
            if is_accepted is False:
                self._patience.ended()
            return is_accepted

    def _send(self, term: PlayedTerm, page: PageCall, messages: int) -> bool | None:
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
                    return None
                # A late copy of this very call may still arrive: no other page may have its number.
                term.wait_until_over(FULL_WAIT)
            except TermOver as superseded:
                instance.lose_term(term, superseded.what)
            except Superseded as superseded:
                instance.be_reborn(term.incarnation, superseded.what)
            except Unavailable as error:
                is_known = False
                term.wait_until_over(self._patience.failed(error))
            else:
                self._patience.well()
                term.published(page.call, messages, sent, instance.settings.lease)
                if messages:
                    instance.events.count_generated(term.number, term.seq, messages, at=sent_at)
                return True
        return False
