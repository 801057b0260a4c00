"""Sources under test: called when they are polled."""

import pytest

from soloist import App, Message, Msg, Page, Source
from soloist.errors import UsageError
from soloist.testing import Kit, SourceFailed


class Feed:
    """An App that reads a table."""

    def __init__(self) -> None:
        self.app = App("feed")
        self.table: list[str] = []
        self.handled: list[str] = []
        self.calls = 0
        self.app.source(every=3600)(self.rows)
        self.app.generator(every=0.01)(self.tick)
        self.app.handler("row")(lambda message: self.handled.append(message.body))
        self.app.handler(self.ticked)

    def rows(self, source: Source[None, int]) -> Page[int]:
        at = source.cursor or 0
        rows = self.table[at : at + 2]
        return Page([Msg("row", row) for row in rows], cursor=at + len(rows), more=len(rows) == 2)

    def tick(self) -> str:
        self.calls += 1
        if self.calls == 3:
            raise OSError("no clock")
        return "tick"

    def ticked(self, _message: Message) -> None:
        self.handled.append("tick")


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_a_source_is_called_when_it_is_polled(soloist: Kit, feed: Feed) -> None:
    """By its name, or all of them; never by itself, and until a page says that there is no more."""
    feed.table += "abc"
    with soloist.run(feed.app) as system:
        system.step(7200)
        system.wait_until_empty()
        assert feed.handled == []

        system.poll("rows")
        system.wait_until_empty()
        assert feed.handled == ["a", "b", "c"]
        feed.table += "d"
        system.poll()
        system.wait_until_empty()
        assert sorted(feed.handled) == ["a", "b", "c", "d", "tick"]


def test_after_a_takeover_it_goes_on_behind_its_cursor(soloist: Kit, feed: Feed) -> None:
    """Whoever generates then is polled."""
    feed.table += "ab"
    with soloist.run(feed.app, instances=2) as system:
        system.poll("rows")
        system.kill(system.generator)
        feed.table += "c"
        system.poll("rows")
        system.wait_until_empty()

    assert sorted(feed.handled) == ["a", "b", "c"]


def test_what_a_source_raises_is_told(soloist: Kit, feed: Feed) -> None:
    """By the poll that called it; the next one calls it again."""
    with soloist.run(feed.app) as system:
        system.poll("generator")
        system.poll("generator")
        with pytest.raises(SourceFailed, match=r"tick \(test_polls.py, line \d+\) failed: .*no clock"):
            system.poll("generator")
        system.poll("generator")
        system.wait_until_empty()
        assert feed.handled == ["tick"] * 3
        with pytest.raises(UsageError, match=r"no such source\. It has: rows, generator"):
            system.poll("nobody")


def test_sources_may_have_their_own_rhythm(soloist: Kit, feed: Feed) -> None:
    """As in production, if the test wants that."""
    with soloist.run(feed.app, sources=True) as system:
        system.wait_until(lambda: len(feed.handled) > 5)
        with pytest.raises(UsageError, match="in their own rhythm"):
            system.poll()
