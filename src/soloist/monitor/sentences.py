"""Entries of the common log on a line of the screen: the sentences are narrative.py's, takeovers stand out."""

import time
from collections.abc import Mapping

from soloist import narrative
from soloist.monitor.lines import Span, Tone, tame
from soloist.store.log import LogEntry

LONGEST_TAKEOVER_MS = 60_000
"""A generator that was last heard longer ago was not taken over from: nobody was there."""

TONES = {
    "elected": Tone.GENERATOR,
    "left": Tone.DIM,
    "superseded": Tone.DOUBT,
    "reclaimed": Tone.DOUBT,
    "paused": Tone.DOUBT,
    "failed": Tone.BAD,
}


def clock(at: float) -> str:
    """A wall time, in seconds, as people read it here."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def date(at: float) -> str:
    """The same with its day."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def takeover(entry: LogEntry, numbers: Mapping[str, int]) -> str:
    """The sentence about a takeover; empty if this entry is none."""
    ms = entry.fields.get("takeover_ms", "")
    if entry.event != "elected" or not ms.isdigit() or not 0 < int(ms) <= LONGEST_TAKEOVER_MS:
        return ""
    return f"instance {tame(narrative.who(narrative.numbered(entry, numbers).fields))} took over after {int(ms):,} ms"


def sentence(entry: LogEntry, numbers: Mapping[str, int]) -> Span:
    """What happened, for people, and how it is to be taken."""
    tone = TONES.get(entry.event, Tone.PLAIN)
    took = takeover(entry, numbers)
    if took:
        return Span(f"{took} (term {tame(entry.fields.get('term', '?'))})", tone)
    return Span(tame(narrative.sentence(narrative.numbered(entry, numbers))), tone)
