"""A producer: publishes for a process that need not be an instance, each message once, whatever becomes of the replies.

Its calls are numbered and go one after another; one whose outcome is unknown is repeated until it is known, or
the producer is given up: what it may still have under way is refused then, or was the last that it did.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from soloist.errors import NotPublished, Unavailable
from soloist.runtime.incarnation import new_id
from soloist.runtime.patience import FIRST, LONGEST
from soloist.store.envelope import pack, pack_page
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Full
from soloist.store.server import Server
from soloist.store.submissions import Gone, SpecialMessage, SubmitCall, enlist, submit

PAGE = 1000
"""Messages of one call at most."""

PAGE_BYTES = 2**20
"""Bytes of one call, but for a single message that is larger."""

MOST_KINDS = 100

FULL_WAIT = 0.05
"""Seconds between attempts while too many wait."""

FRESH = 1800.0
"""Seconds after which one that was not heard enlists anew: the server forgets those who were silent for an hour."""


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """A message to be published. A Struct, since one is made for every message: that takes a tenth of a dataclass's time.

    Attributes:
        delay_ms: not before so many ms are over.
        at_ms: not before this time of the server.
        waits: who waits for its end: "unique KEY", "run SCHEDULE" or nobody.
    """

    kind: str
    body: bytes
    key: bytes = b""
    delay_ms: int = 0
    at_ms: int = 0
    waits: str = ""
    headers: bytes = b""

    @property
    def is_special(self) -> bool:
        return bool(self.waits or self.delay_ms or self.at_ms)


class Producer:
    """Publishes from any thread of one process. In a forked child another one has to be made.

    Args:
        app: the App's name; empty: whatever is there, but something must be.
        patience: seconds for which a call is tried.
    """

    def __init__(
        self, server: Server, namespace: str, app: str, max_pending: int, timeout: float, patience: float
    ) -> None:
        self.process = os.getpid()
        self._keys = Keys(namespace)
        self._app = app
        self._max_pending = max_pending
        self._patience = patience
        self._link = Link(server, timeout)
        self._lock = threading.Lock()
        self._id = ""
        self._call = self._number = 0
        self._heard_at = self._since = time.monotonic()
        self._now_ms = 0

    def publish(self, wanted: Sequence[Wanted]) -> list[str]:
        """Publish all of it, in this order; answers the ids: of a message whose key is there already, that of the other one.

        Raises:
            NotPublished: it was given up; what was before it is published.
        """
        ids: list[str] = []
        for page in _pages(wanted):
            ids += self._publish(page, ids)
        return ids

    def close(self) -> None:
        with self._lock:
            self._link.close()

    def _publish(self, page: Sequence[Wanted], before: Sequence[str]) -> list[str]:
        """Other threads publish in between while there is no room for this page: the call number is not used."""
        give_up = time.monotonic() + self._patience
        while True:
            if not self._lock.acquire(timeout=max(0.0, give_up - time.monotonic())):
                raise self._given_up("other threads of this process publish, and are not done", before)
            try:
                ids = self._attempt(page, before, give_up)
            except BaseException:  # Ctrl-C, too: the call may be under way, and nothing else must get its number
                self._forget()
                raise
            finally:
                self._lock.release()
            if ids is not None:
                return ids
            if time.monotonic() + FULL_WAIT > give_up:
                raise self._given_up(self._full, before)
            time.sleep(FULL_WAIT)

    def _attempt(self, page: Sequence[Wanted], before: Sequence[str], give_up: float) -> list[str] | None:
        """Until it is known what becomes of the page; None: too many wait, and nothing was published."""
        wait, is_undecided = 0.0, False
        if time.monotonic() - self._heard_at > FRESH:
            self._id = ""  # not later: a call that may have been applied is repeated under the id that it had
        while True:
            try:
                if not self._id:
                    self._enlist()
                ids, order, call = self._written(page)
                found = submit(self._link, self._keys, self._id, self._max_pending, call)
            except Full:
                if not is_undecided:
                    return None
                said, wait = self._full, FULL_WAIT  # a late copy of this very call may still come
            except Gone:  # it forgot us, or went back to an older state
                if is_undecided:
                    raise self._given_up("the server has forgotten this producer", before, is_undecided=True) from None
                said, wait, self._id = "the server forgets its producers", 0.0, ""
            except Unavailable as error:
                said = str(error)
                is_undecided = is_undecided or (bool(self._id) and error.sent and not error.refused)
                wait = min(max(2 * wait, FIRST), LONGEST) if wait or error.refused else FIRST
            else:
                self._call, self._number = call.call, self._number + len(page)
                self._heard_at = time.monotonic()
                for place, ident in found.others.items():
                    ids[order[place - 1]] = ident
                return ids
            if time.monotonic() + wait > give_up:
                raise self._given_up(said, before, is_undecided=is_undecided)
            time.sleep(wait)

    @property
    def _full(self) -> str:
        return f"the server has {self._max_pending:,} messages waiting, which is as many as max_pending allows"

    def _forget(self) -> None:
        """Under this id nothing is sent any more: a late copy would find that it fits."""
        self._id = ""
        self._link.close()

    def _given_up(self, said: str, before: Sequence[str], *, is_undecided: bool = False) -> NotPublished:
        state = (
            "whether it was published is not known: publish it again only if twice does no harm, or with unique=True"
            if is_undecided
            else "it was not published"
        )
        return NotPublished(
            f"{said.rstrip('.')}; given up after {self._patience:g} s: {state}.", before, is_undecided=is_undecided
        )

    def _enlist(self) -> None:
        """Under a new id each time: one whose answer was lost is given up, never repeated."""
        ident = new_id()
        self._now_ms = enlist(self._link, self._keys, ident, self._app)
        self._since = time.monotonic()
        self._id, self._call, self._number, self._heard_at = ident, 0, 0, self._since

    def _written(self, page: Sequence[Wanted]) -> tuple[list[str], Sequence[int], SubmitCall]:
        """Ids in the order of the page; which message of the page stands at each place of the call, where those of a kind
        are side by side; and the call.
        """
        now_ms = self._now_ms + round((time.monotonic() - self._since) * 1000)
        first = self._number + 1
        ids = [f"{number}-{self._id}" for number in range(first, first + len(page))]
        by_kind = _by_kind(page)
        if len(by_kind) == 1 and not any(each.key or each.headers for each in page):
            (kind,) = by_kind
            bodies = [each.body for each in page]
            envelopes = {kind: pack_page(first, self._id, kind, now_ms, bodies)}
        else:
            envelopes = {
                kind: [pack(ids[at], kind, now_ms, page[at].body, page[at].key, page[at].headers) for at in numbers]
                for kind, numbers in by_kind.items()
            }
        order = list(chain(*by_kind.values()))
        specials = [
            SpecialMessage(place, page[at].delay_ms, page[at].at_ms, page[at].waits)
            for place, at in enumerate(order, 1)
            if page[at].is_special
        ]
        return ids, order, SubmitCall(self._call + 1, envelopes, specials)


def _by_kind(page: Sequence[Wanted]) -> dict[str, Sequence[int]]:
    """Where in the page the messages of each kind stand."""
    if len({each.kind for each in page}) == 1:
        return {page[0].kind: range(len(page))}
    found: dict[str, list[int]] = {}
    for at, each in enumerate(page):
        found.setdefault(each.kind, []).append(at)
    return {**found}


def _pages(wanted: Sequence[Wanted]) -> Iterator[Sequence[Wanted]]:
    """By number and size, and no more kinds than a script can be given."""
    at = 0
    while at < len(wanted):
        page = wanted[at : at + PAGE]
        if sum(len(each.body) + len(each.key) for each in page) > PAGE_BYTES or _kinds(page) > MOST_KINDS:
            page = page[: _as_many_as_fit(page)]
        yield page
        at += len(page)


def _kinds(page: Sequence[Wanted]) -> int:
    return len({each.kind for each in page})


def _as_many_as_fit(page: Sequence[Wanted]) -> int:
    """At least one."""
    size, kinds = 0, set[str]()
    for many, each in enumerate(page):
        size += len(each.body) + len(each.key)
        kinds.add(each.kind)
        if many and (size > PAGE_BYTES or len(kinds) > MOST_KINDS):
            return many
    return len(page)
