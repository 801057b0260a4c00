"""The courier: numbers what a beat sends, and sends it, one after another, until each outcome is known."""

import time
from collections.abc import Callable
from enum import Enum, auto

from soloist.celery.member import Member
from soloist.errors import Denied, Unavailable
from soloist.runtime.patience import Patience
from soloist.runtime.played_term import PlayedTerm
from soloist.store.link import Link
from soloist.store.replies import Superseded, TermOver
from soloist.store.sending import Changed, Post, SendCall, Undeliverable, send

UNDELIVERABLE_WAIT = 0.5


class Outcome(Enum):
    """What became of it."""

    SENT = auto()
    CHANGED = auto()
    """The agenda did, and nothing was sent: look again at what is due."""
    OVER = auto()
    """The term is another's, and nothing was sent."""


class Courier:
    """Sends for a beat while it plays the term; it is the only one that uses the term's call numbers."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._link = Link(member.server, member.settings.call_timeout)
        self._patience = Patience("courier", member.outage)

    @property
    def link(self) -> Link:
        """For what is asked between two sends."""
        return self._link

    def close(self) -> None:
        self._link.close()

    def deliver(self, term: PlayedTerm, agenda: int, entry: str, tick: int, runs: int, post: Post) -> Outcome:
        """Until it is known.

        Raises:
            Undeliverable: the broker cannot take it.
        """
        call = SendCall(term.number, term.call + 1, agenda, entry, tick, runs, post)
        is_known = True
        # With messages it may be one of their queues that is forbidden, which must not hold up the others.
        undeliverable = (Undeliverable, Denied) if post.pushes or post.broadcasts else Undeliverable
        while term.wait_until_permitted():
            sent = time.monotonic()
            try:
                send(self._link, self._member.keys, term.incarnation.id, self._member.settings, call)
            except Changed:
                # Also of one whose outcome was unknown: the version never comes again, so a late copy is answered the same.
                self._patience.well()
                return Outcome.CHANGED
            except undeliverable as error:
                self._patience.well()
                if is_known:
                    raise Undeliverable(str(error)) from None
                # A late copy may still arrive, and be delivered by then: nothing else may have its number.
                term.wait_until_over(UNDELIVERABLE_WAIT)
            except Unavailable as error:
                is_known = False
                term.wait_until_over(self._patience.failed(error))
            except Superseded as superseded:
                self.refused(term, superseded)
                break
            else:
                self._patience.well()
                term.published(call.call, 0, sent, self._member.settings.lease)
                return Outcome.SENT
        self._patience.ended()
        return Outcome.OVER

    def ask(self, term: PlayedTerm, question: Callable[[], object]) -> bool:
        """Something that may be repeated, until it is answered; False if the term is over."""
        while not term.is_over:
            try:
                question()
            except Unavailable as error:
                term.wait_until_over(self._patience.failed(error))
            except Superseded as superseded:
                self.refused(term, superseded)
                return False
            else:
                self._patience.well()
                return True
        return False

    def refused(self, term: PlayedTerm, superseded: Superseded) -> None:
        """Only the term is over; or nobody knows this incarnation any more."""
        if isinstance(superseded, TermOver):
            self._member.lose_term(term, superseded.what)
        else:
            self._member.be_reborn(term.incarnation, superseded.what)
