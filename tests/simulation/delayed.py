"""Delayed messages in virtual time: the real scripts on a real server, by a clock that is set; nothing is waited for.

What moves them is the beat of the generator. It comes when the answer to the one before it said (`next_ms`), or as soon as
the alarm rings, as in runtime/heartbeat.py and runtime/alarm.py. What is moved is claimed at once by the real `next`: what
a handler takes to hear the bell is a matter of real time, see tools/delayed.py --real.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from soloist.runtime.alarm import SHORTEST
from soloist.settings import Settings
from soloist.store.envelope import pack, unpack
from soloist.store.fitness import info
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import next_turn
from soloist.store.presence import Heard, Who, beat, join
from soloist.store.submissions import SpecialMessage, SubmitCall, enlist, submit
from tests.simulation.backend import CLOCK_KEY
from tests.turns import Done, turn_call

KIND = "later"
NOON_US = 1_800_000_000_000_000
CALL_US = 200
"""What each call takes."""

PAGE = 1000
AHEAD_MS = 1000
"""So long before the first of them is due most are published: nobody beats meanwhile."""

SHORT_MS = 3000
"""Those that are published on the way are due so much later at most: for many of them the alarm is rung."""

SHORT = 0.2
"""How many of all these are."""

TOGETHER = 4
"""How many of them are published together."""


@dataclass
class Outcome:
    """How it went.

    Attributes:
        late_ms: of each message, in the order in which they were claimed; below 0: early.
        ahead, memory: how many were published before the hour began, and how many bytes the server took for them.
    """

    late_ms: list[int] = field(default_factory=list)
    beats: int = 0
    alarms: int = 0
    ahead: int = 0
    memory: int = 0
    left: int = 0


class Hour:
    """One instance that generates and handles, and one producer, on a namespace that is empty."""

    def __init__(self, link: Link, keys: Keys, settings: Settings, seed: int) -> None:
        self._link, self._keys, self._settings = link, keys, settings
        self._chance = random.Random(seed)
        self._now_us = NOON_US
        self._who = Who("player", 0, "hour", "host", 17, (KIND,), False)
        self._turn, self._term, self._number, self._call = 0, 0, 0, 0
        self._alarm_asked_us = 0
        self.outcome = Outcome()

    def play(self, messages: int, seconds: float) -> Outcome:
        self._tick()
        self._stamp = join(self._link, self._keys, self._who, self._settings).stamp
        enlist(self._link, self._keys, "producer", "hour")
        before = self._memory()
        short = round(messages * SHORT)
        self.outcome.ahead = messages - short
        self._publish_ahead(messages - short, seconds)
        self.outcome.memory = self._memory() - before
        self._go_through(sorted(self._moments(short, seconds)))
        self.outcome.left = int(self._link.command("ZCARD", f"{self._keys.base}delayed:{KIND}"))
        self._link.command("DEL", CLOCK_KEY)
        return self.outcome

    def _moments(self, short: int, seconds: float) -> Iterator[int]:
        """When something is published on the way."""
        for _ in range(0, short, TOGETHER):
            yield self._now_us + round(self._chance.random() * seconds * 1e6)

    def _go_through(self, moments: Sequence[int]) -> None:
        """Beats and publications, in the order of their times, until nothing is delayed any more."""
        published, beat_us = 0, self._now_us
        while published < len(moments) or self._link.command("ZCARD", f"{self._keys.base}delayed:{KIND}"):
            if published < len(moments) and moments[published] < beat_us:
                self._now_us = max(self._now_us, moments[published])
                published += 1
                self._publish([(self._chance.randint(1, SHORT_MS), 0) for _ in range(TOGETHER)])
                if self._link.command("LLEN", self._keys.alarm):
                    beat_us = min(beat_us, max(self._now_us, self._alarm_asked_us))
            else:
                self._now_us = max(self._now_us, beat_us)
                beat_us = self._beat()
            self._handle()

    def _beat(self) -> int:
        """As the heart does; answers when the next one comes."""
        if self._now_us >= self._alarm_asked_us and self._link.command("LPOP", self._keys.alarm):
            self._alarm_asked_us = self._now_us + round(SHORTEST * 1e6)
            self.outcome.alarms += 1
        self.outcome.beats += 1
        begun = self._now_us
        self._tick()
        heard: Heard = beat(
            self._link, self._keys, self._who, self._settings,
            term=self._term, may_generate=True, busy=False, will=0, tag="tag", known=(self._turn, self._stamp),
        )  # fmt: skip
        self._term = heard.term.number if heard.term else self._term
        after = begun + 1000 * heard.next_ms
        rung = self._link.command("LLEN", self._keys.alarm)
        return min(after, max(self._now_us, self._alarm_asked_us)) if rung else after

    def _handle(self) -> None:
        """Claim and complete all that waits."""
        if not self._link.command("LLEN", self._keys.pending(KIND)):
            return
        held: list[bytes] = []
        while True:
            self._tick()
            call = turn_call(self._turn + 1, self._stamp, held, {KIND: Done(PAGE, held)})
            claimed = next_turn(self._link, self._keys, self._who.id, self._settings, call)
            self._turn, self._stamp = self._turn + 1, claimed.stamp
            held = []
            for envelope in map(unpack, claimed.envelopes):
                held.append(envelope.id.encode())
                self.outcome.late_ms.append(self._now_us // 1000 - int(envelope.body))
            if not held:
                return

    def _publish_ahead(self, messages: int, seconds: float) -> None:
        """Most of them, before the hour begins, for any moment of it."""
        for first in range(0, messages, PAGE):
            many = min(PAGE, messages - first)
            now_ms = self._now_us // 1000
            self._publish([(0, now_ms + AHEAD_MS + round(self._chance.random() * seconds * 1000)) for _ in range(many)])

    def _publish(self, when: Sequence[tuple[int, int]]) -> None:
        """One for each of these: after how many ms, and at what time, it is due."""
        self._tick()
        now_ms = self._now_us // 1000
        envelopes, specials = [], []
        for place, (delay_ms, at_ms) in enumerate(when, 1):
            self._number += 1
            due = max(now_ms + delay_ms, at_ms)
            envelopes.append(pack(f"{self._number}-producer", KIND, now_ms, b"%d" % due))
            specials.append(SpecialMessage(place, delay_ms, at_ms))
        self._call += 1
        submit(self._link, self._keys, "producer", 10**9, SubmitCall(self._call, {KIND: envelopes}, specials))

    def _tick(self) -> None:
        self._now_us += CALL_US
        self._link.command("SET", CLOCK_KEY, self._now_us)

    def _memory(self) -> int:
        return int(info(self._link)["used_memory"])
