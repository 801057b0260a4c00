"""The generator: runs the sources and publishes their messages while the instance holds the term.

One sender: calls are numbered and go one after another; a call whose outcome is unknown is repeated unchanged. Before
each call the generator looks at its own clock: it stops by itself before the others may judge that its term is over,
and goes on when a beat has renewed it. Frozen between that look and the call, it is refused by the script.
"""

import logging
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soloist.app import Source
from soloist.errors import Unavailable
from soloist.message import DEFAULT_KIND, encode_body
from soloist.runtime.cadence import Cadence
from soloist.runtime.patience import Patience
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.telling import told
from soloist.store.envelope import pack_page
from soloist.store.link import Link
from soloist.store.messages import Full, PageCall, publish
from soloist.store.replies import Superseded, TermOver

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

PAGE_MOST = 1000
PAGE_WORK = 0.005
PAGE_BYTES = 2**20
"""A page of a source that goes as fast as it can: so many messages, seconds of collecting, bytes at most."""

FULL_WAIT = 0.05
NOTHING_WAIT = 0.05

log = logging.getLogger("soloist")


class Generator:
    """Plays the generator's part of an instance while it holds the term.

    Args:
        until: stop at this sequence number, None for never.
    """

    def __init__(self, instance: "Instance", sources: Sequence[Source], until: int | None = None) -> None:
        self._instance = instance
        self._sources = sources
        self._until = until
        self._link = Link(instance.server, instance.settings.call_timeout)
        self._patience = Patience("generator", instance.outage)
        self.failing: dict[str, tuple[float, str]] = {}
        """Sources whose last call failed, by name: since when (monotonic), and what was raised last."""
        self.calling: tuple[Source, float] | None = None
        """The source that is being called, since when (monotonic)."""
        self._begun = threading.Condition()
        self._term: PlayedTerm | None = None
        self._playing: PlayedTerm | None = None
        self._stopping = threading.Event()
        self.threads = [threading.Thread(target=instance.guard(self._play), name="generator", daemon=True)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def begin(self, term: PlayedTerm) -> None:
        """The instance was elected."""
        with self._begun:
            self._term = term
            self._begun.notify_all()

    def stop(self, within: float) -> bool:
        """Publish no more; True if the call in hand is known."""
        self._stopping.set()
        with self._begun:
            for term in (self._term, self._playing):
                if term is not None:
                    term.end()
            self._begun.notify_all()
        for thread in self.threads:
            thread.join(within)
        return not any(thread.is_alive() for thread in self.threads)

    def _play(self) -> None:
        while not self._stopping.is_set():
            with self._begun:
                while self._term is None and not self._stopping.is_set():
                    self._begun.wait()
                term = self._playing = self._term
                self._term = None
            if term is not None and self._sources:
                self._play_term(term)

    def _play_term(self, term: PlayedTerm) -> None:
        now_ms = self._instance.clock.now_ms()
        now = time.monotonic()
        cadences = {
            source.name: Cadence(source.every * 1000, term.ticks.get(source.name), now_ms, now)
            for source in self._sources
        }
        while not term.is_over and not self._stopping.is_set():
            if self._until is not None and term.seq >= self._until:
                term.wait_until_over(0.5)
                continue
            source = min(self._sources, key=lambda each: cadences[each.name].wait(time.monotonic()))
            cadence = cadences[source.name]
            wait = cadence.wait(time.monotonic())
            if wait > 0 and term.wait_until_over(wait):
                return
            bodies = self._collect(source, term)
            if bodies:
                # kill point: between source and publish
                self._publish(term, self._page(term, source, bodies, cadence.tick))
            elif source.every == 0:
                term.wait_until_over(NOTHING_WAIT)
            cadence.done(time.monotonic())

    def _collect(self, source: Source, term: PlayedTerm) -> list[bytes]:
        """One message, or as many as fit into a page if the source goes as fast as it can."""
        most = 1 if source.every else PAGE_MOST
        if self._until is not None:
            most = min(most, self._until - term.seq)
        until = time.monotonic() + PAGE_WORK
        bodies: list[bytes] = []
        size = 0
        produce, max_body = source.function, self._instance.settings.max_body
        self.calling = source, time.monotonic()
        try:
            while len(bodies) < most and size < PAGE_BYTES:
                made = produce()
                if made is None:
                    break
                body = made.encode() if isinstance(made, str) else encode_body(made)
                if len(body) > max_body:
                    raise ValueError(f"a body of {len(body)} bytes is larger than max_body allows")
                bodies.append(body)
                size += len(body)
                if not len(bodies) & 15 and time.monotonic() > until:
                    break
        except BaseException as error:  # whatever the user's code raises, also SystemExit: the next tick comes
            if source.name not in self.failing:
                log.exception("source.failed source=%s; it is called again at its next tick", source.name)
            since, _ = self.failing.get(source.name, (time.monotonic(), ""))
            self.failing[source.name] = since, told(error)
        else:
            self.failing.pop(source.name, None)
        self.calling = None
        return bodies

    def _page(self, term: PlayedTerm, source: Source, bodies: list[bytes], tick: int) -> PageCall:
        at = int(self._instance.clock.now_ms())
        first = term.seq + 1
        envelopes = pack_page(first, term.tag, DEFAULT_KIND, at, bodies)
        return PageCall(term.number, term.call + 1, first, source.name, {DEFAULT_KIND: envelopes}, tick=tick)

    def _publish(self, term: PlayedTerm, page: PageCall) -> None:
        instance = self._instance
        while not term.is_over:
            if not term.wait_until_permitted():
                break
            sent, sent_at = time.monotonic(), time.time_ns() // 1_000_000
            # kill point: between clock check and publish
            try:
                publish(self._link, instance.keys, term.incarnation.id, instance.settings, page)
            except Full:
                term.wait_until_over(FULL_WAIT)
            except TermOver as superseded:
                instance.lose_term(term, superseded.what)
            except Superseded as superseded:
                instance.be_reborn(term.incarnation, superseded.what)
            except Unavailable as error:
                term.wait_until_over(self._patience.failed(error))
            else:
                self._patience.well()
                messages = sum(len(envelopes) for envelopes in page.envelopes.values())
                term.published(page.call, messages, sent, instance.settings.lease)
                instance.events.count_generated(term.number, term.seq, messages, at=sent_at)
                return
        self._patience.ended()
