"""Messages that end their process, handled beside others of several kinds, in real processes."""

from collections import Counter
from contextlib import closing, suppress

from soloist.error_store import ErrorStore
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.crew import Crew, Running
from tests.waiting import wait_until

APP = ("tests.processes.apps:deadly", "--max-attempts", 3)
HANDLERS = 2
WAITED_MS = 20_000


def let_them_have_waited(crew: Crew) -> None:
    """All suspects of poison have waited for long: a test need not."""
    keys = Keys(crew.namespace)
    with closing(Link(Server(crew.url), timeout=5)) as link:
        now_ms = int(link.command("TIME")[0]) * 1000
        lists = [suspect for kind in ("inline", "tasks", "batches") for suspect in keys.of_kinds([kind])[2:3]]
        for envelope in [envelope for each in lists for envelope in link.command("LRANGE", each, 0, -1)]:
            ident = envelope.split(b" ", 1)[0]
            entry = link.command("HGET", keys.attempts, ident)
            with suppress(AttributeError):  # it was claimed and completed meanwhile
                deaths, retries, since, hold = entry.split()
                if int(since) > now_ms - WAITED_MS // 2:
                    told = b" ".join((deaths, retries, b"%d" % (now_ms - WAITED_MS), hold))
                    link.command("HSET", keys.attempts, ident, told)


def test_poison_of_several_kinds_is_found_out_beside_steady_work_and_nothing_else_is_blamed(crew: Crew) -> None:
    """Each costs three processes and ends in the error store; whatever was in their hands along with it is completed."""
    crew.start(*APP)
    handlers: list[Running] = []

    def is_found_out() -> bool:
        handlers[:] = [one for one in handlers if one.process.poll() is None]
        handlers.extend(crew.start(*APP, "--role", "handler", joins=False) for _ in range(HANDLERS - len(handlers)))
        let_them_have_waited(crew)
        return crew.snapshot().failed == 3

    wait_until(is_found_out, within=100, what="all three are in the error store")
    (crew.folder / "enough").touch()
    wait_until(lambda: is_found_out() and not crew.snapshot().pending, what="no work is left")
    wait_until(lambda: not crew.snapshot().claimed, what="nor in hand")

    records = list(ErrorStore(Server(crew.url), crew.namespace).oldest())
    assert sorted(record.data for record in records) == [b"20", b"21", b"22"]
    assert {record.details.reason for record in records} == {"its handler died 3 times"}
    deaths = Counter(line.split()[1] for line in crew.ledger())
    assert deaths.keys() == {"20", "21", "22"}
    assert max(deaths.values()) <= 3  # fewer, if it was in hand while another one killed
    seen = crew.snapshot()
    assert (seen.completed, seen.failed) == (seen.published - 3, 3)
