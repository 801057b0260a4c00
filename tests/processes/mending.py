"""Three instances on a server that falls ill and is mended: what they do, and what each says of it."""

import signal
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from soloist.errors import Unavailable
from soloist.inspector import Snapshot
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.crew import Crew, Running
from tests.waiting import wait_until

OPTIONS = ("--interval", 0.05, "--error-rate", 1)
"""Every message ends in the error store under its number, so a gap or a double shows there."""

INTO_FILE = ("sh", "-c", 'exec "$@" 2>"$0"')
"""Stands before a command: sends its stderr into the file that is named next. The process stays the same one."""

BUSY_MACHINE = "does not answer"
"""No fault that is counted here makes a server silent; a machine that has too much to do does."""

WORK = ("generated", "handled")


LONGER_THAN_THE_TERM = 1.5 * Settings().lease
"""Seconds: the generator's lease is over by then, and the waits between attempts are at their longest."""

SHORT_CLAIM_LEASE = Settings().lease + 0.5
LONGER_THAN_EVERY_LEASE = SHORT_CLAIM_LEASE + 1.0
"""Seconds; for instances whose claim lease is that short."""


class Trio:
    """Three instances that work.

    Args:
        crew: whose they are; also the eye that looks at the server.
        options: more of their options. (A --url here is theirs alone.)
    """

    def __init__(self, crew: Crew, *options: str | float) -> None:
        self.crew = crew
        self.everyone: list[Running] = []
        self._stderr: dict[int, Path] = {}
        for number in range(3):
            path = crew.folder / f"stderr{number}"
            running = crew.start(*OPTIONS, *options, before=(*INTO_FILE, str(path)))
            self._stderr[running.process.pid] = path
            self.everyone.append(running)
        self.wait_until_all_work()
        self.before = crew.snapshot()

    @property
    def generator(self) -> Running:
        return self.crew.generator_of(self.everyone)

    @property
    def ids(self) -> list[str]:
        return [str(running.told("joined")[-1]["instance"]) for running in self.everyone]

    def said(self, running: Running, what: str = "") -> list[str]:
        """The lines on its stderr that tell this."""
        return [line for line in self._stderr[running.process.pid].read_text().splitlines() if f"  {what}" in line]

    def endure(self, *who: Running, seconds: float = LONGER_THAN_THE_TERM) -> None:
        """Wait until these, or all, have said that the server is away; and that is how it stays for so long."""
        for running in who or self.everyone:
            wait_until(lambda: self.said(running, "server.lost "), what="it says that the server is away")  # noqa: B023
        time.sleep(seconds)  # no condition: the length of the outage is the fault itself

    def wait_until_it_flows_again(self) -> None:
        """The server is well from now on. Wait until all three work, and everything is in its place."""
        mended = time.time_ns() // 1_000_000
        self.wait_until_all_work()
        published = min(self._times(self.everyone, "generated", mended))
        handled = min(self._times(self.everyone, "handled", published))
        last = max(min(self._times([running], "", mended)) for running in self.everyone)
        print(f"well at {mended}: flows again after {handled - mended} ms, the last works after {last - mended} ms")

    def _times(self, whose: list[Running], event: str, since: int) -> list[int]:
        names = (event,) if event else WORK
        told = (each for running in whose for name in names for each in running.told(name))
        return [each["at"] for each in told if each["at"] >= since]

    def assert_nobody_was_judged(self) -> None:
        """Everybody is who it was, and what was claimed stayed where it was: all were unheard alike."""
        seen = self.crew.snapshot()
        assert seen.reclaimed == 0
        assert sorted(each.id for each in seen.instances) == sorted(each.id for each in self.before.instances)
        assert seen.term is not None
        assert self.before.term is not None
        assert (seen.term.number, seen.term.instance) == (self.before.term.number, self.before.term.instance)

    def look(self) -> Snapshot | None:
        """What is in Redis, if it answers: our own connection may be a broken one too. It must add up."""
        with suppress(Unavailable):
            return self.crew.snapshot()
        return None

    def wait_until_all_work(self) -> None:
        """Each tells of several more messages that it published or handled, and is among the instances."""
        marks = {running.process.pid: self._work_of(running) for running in self.everyone}
        for running in self.everyone:
            mark = marks[running.process.pid]
            wait_until(lambda: self._work_of(running, alive=True) >= mark + 3, what="it works")  # noqa: B023
        wait_until(self._all_are_present, what="all three are present, and one generates")

    def _work_of(self, running: Running, *, alive: bool = False) -> int:
        if alive:
            assert running.process.poll() is None, f"it ended with {running.process.returncode}"
        return sum(len(running.told(event)) for event in WORK)

    def _all_are_present(self) -> bool:
        seen = self.look()
        present = {each.id for each in seen.instances} if seen is not None and seen.term is not None else set()
        return present >= set(self.ids)

    def end(self, outages: int | None = 1, of: list[Running] | None = None) -> None:
        """All have got over it, last wills and all, said so in as many words as they should, and leave.

        Args:
            outages: how many each has seen, saying one line when it went and one when it came back; None if a passing
                fault may have been seen or not.
            of: whom that concerns; the others must have said nothing.
        """
        for running in self.everyone:
            wait_until(lambda: self._is_calm(running), what="it says that the server is back")  # noqa: B023
        wait_until(self._all_have_wills, what="all have a last will again")
        self.leave()
        for running in self.everyone:
            lost, back = self.said(running, "server.lost "), self.said(running, "server.back ")
            expected = outages if of is None or running in of else 0
            faults = [line for line in lost if BUSY_MACHINE not in line]
            assert len(lost) == len(back)
            assert expected is None or len(faults) <= expected, lost
            assert not expected or lost
            others = set(self.said(running)) - {*lost, *back, *self.said(running, "server.persistence ")}
            assert not others, "it said nothing else"

    def leave(self) -> None:
        """All go in order; what is in Redis then is complete and without a double."""
        for running in self.everyone:
            running.process.send_signal(signal.SIGTERM)
        assert [running.process.wait(timeout=60) for running in self.everyone] == [0, 0, 0]
        self._assert_numbers_are_complete()

    def _all_have_wills(self) -> bool:
        channels = [Keys(self.crew.namespace).alive + each for each in self.ids]
        listeners: list[Any] = command(self.crew.url, "PUBSUB", "SHARDNUMSUB", *channels)
        return listeners[1::2] == [1, 1, 1]

    def _is_calm(self, running: Running) -> bool:
        return len(self.said(running, "server.lost ")) == len(self.said(running, "server.back "))

    def _assert_numbers_are_complete(self) -> None:
        """Every number that was given is there once: in the error store, or still waiting."""
        published = self.crew.snapshot().published
        assert sorted(self.crew.numbers()) == list(range(1, published + 1))


def command(url: str, *words: str | int) -> Any:
    """One command on a connection of its own."""
    with closing(Link(Server(url), timeout=5)) as link:
        return link.command(*words)
