"""What the heart writes down beside its beats: a sample of the history once a second, and the report when it changes.

Neither decides anything. A note that cannot be written is not worth a word: the beat before it and the one behind it
say what is the matter with the server.
"""

import logging
from typing import TYPE_CHECKING

from soloist.errors import SoloistError, Unavailable
from soloist.runtime.incarnation import Incarnation
from soloist.store.history import sample
from soloist.store.link import Link
from soloist.store.report import report

if TYPE_CHECKING:
    from soloist.runtime.heartbeat import Body

log = logging.getLogger("soloist")


class Notes:
    """Takes notes on the heart's connection."""

    def __init__(self, body: "Body", link: Link) -> None:
        self._body = body
        self._link = link
        self._sampled = 0
        self._reported: tuple[str, str] = ("", "")
        self._reports = 0
        self._forbidden = False

    def take(self, incarnation: Incarnation, played: int, now_ms: int) -> None:
        """After a beat that was answered, at that time of the server."""
        if self._forbidden:
            return
        try:
            self._sample(incarnation, played, now_ms // 1000)
            self._report(incarnation)
        except Unavailable as error:
            log.debug("note.unknown reason=%r", str(error))
        except SoloistError as error:
            self._forbidden = True
            log.warning("notes.missing reason=%r; there is no history from here", str(error))

    def _sample(self, incarnation: Incarnation, played: int, second: int) -> None:
        if played and second != self._sampled:
            sample(self._link, self._body.keys, incarnation.id, played, incarnation.who.kinds)
            self._sampled = second

    def _report(self, incarnation: Incarnation) -> None:
        said = (incarnation.id, self._body.report())
        before = self._reported if self._reported[0] == incarnation.id else (incarnation.id, "")
        if said != before:
            self._reports += 1
            report(self._link, self._body.keys, incarnation.id, self._reports, said[1])
        self._reported = said
