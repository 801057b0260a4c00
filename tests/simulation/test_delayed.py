"""Delayed messages in virtual time: none early, none late. The large runs: tools/delayed.py."""

from contextlib import closing

import pytest

from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.servers import PrivateServer
from tests.simulation.backend import by_virtual_time
from tests.simulation.delayed import Hour

DATABASE = 8
"""Of our own: a clock is kept in it."""


@pytest.mark.parametrize(("messages", "seconds"), [(6000, 20), (200, 60)])
def test_whatever_is_delayed_is_claimed_when_it_is_due(server: PrivateServer, messages: int, seconds: float) -> None:
    """Never early; and not late, since the generator looks when the next one is due, or as soon as it is told of one."""
    url = server.url.rpartition("/")[0] + f"/{DATABASE}"
    with by_virtual_time(), closing(Link(Server(url), timeout=10)) as link:
        link.command("FLUSHDB")
        outcome = Hour(link, Keys("hour"), Settings(), seed=messages).play(messages, seconds)
        link.command("FLUSHDB")

    assert (len(outcome.late_ms), outcome.left) == (messages, 0)
    assert min(outcome.late_ms) >= 0
    assert max(outcome.late_ms) <= 100
    assert outcome.alarms
