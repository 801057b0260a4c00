"""Messages of any content and size: carried unchanged, printed harmless; what is too large is refused, nothing is lost."""

import base64
import json
import os
import threading
import unicodedata
from contextlib import closing
from typing import Self

import pytest

from soloist.inspector import Inspector
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.bodies import ODD, data_of
from tests.processes.crew import Crew
from tests.processes.mending import INTO_FILE
from tests.processes.one_command import Says
from tests.unit.test_output import BIDI_CONTROLS, read_back

HEAVY = 10_000 if os.environ.get("CI") == "true" else 1_000
"""Messages of 100 KB: a gigabyte in all where there is time for it."""

MOST_PENDING = 500
WEIGHT = 102_408
CLAIM = 2**20 // WEIGHT
"""So many of them fit into one claim."""


def ledger(crew: Crew, what: str) -> list[list[str]]:
    """What was written down under this word, without the process."""
    return [line.split()[1:-1] for line in crew.ledger() if line.startswith(f"{what} ")]


@pytest.fixture
def odd(crew: Crew) -> Crew:
    """A namespace in whose error store the odd bodies rest, each handled once, and no instance alive."""
    running = crew.start("tests.processes.bodies:odd")
    crew.wait_until_handled(len(ODD))
    assert running.end() == 0
    return crew


def assert_harmless(output: str) -> None:
    """Nothing in it does anything to a terminal, or to the order of its letters, but begin new lines."""
    kinds = {letter: unicodedata.category(letter) for letter in set(output) - {"\n"}}
    assert not [letter for letter, kind in kinds.items() if kind in ("Cc", "Zl", "Zp") or letter in BIDI_CONTROLS]


def test_odd_messages_are_carried_unchanged_and_printed_harmless(odd: Crew, says: Says) -> None:
    """Empty, binary, NUL, no UTF-8, newlines, terminal sequences, a megabyte: to the last byte; then every command that shows them."""
    made = [words[0] for words in ledger(odd, "made")]
    got = {int(number): digest for number, digest in ledger(odd, "got")}
    assert [got[number] for number in sorted(got)] == made
    assert len(made) == len(ODD)
    assert odd.snapshot().failed == odd.snapshot().errors == len(ODD)

    listed = odd.command("errors", "list", "--limit", "100")
    exported = [json.loads(line) for line in odd.command("errors", "export").stdout.splitlines()]
    for done in [listed.stdout, *(says("errors", "show", each["id"], *odd.connection).stdout for each in exported)]:
        assert done
        assert_harmless(done)
    assert len(listed.stdout.splitlines()) == len(ODD)
    known = [data_of(body) for body in ODD[:-1]]  # the last one was drawn by the process that published it
    assert [body_of(record) for record in exported][:-1] == known

    drained = odd.command("getErrors")

    assert drained.returncode == 0
    assert_harmless(drained.stdout + drained.stderr)
    assert [read_back(line) for line in drained.stdout.split("\n")[:-2]] == known
    assert len(drained.stdout.splitlines()) == len(ODD)
    assert odd.snapshot().errors == 0


def body_of(record: dict[str, str]) -> bytes:
    """From one line of --json, which is ASCII."""
    return record["body"].encode() if "body" in record else base64.b64decode(record["body_base64"])


def test_a_body_that_is_too_large_is_refused_and_nothing_else_is_lost(crew: Crew) -> None:
    """At publish: it is said once, and the numbers go on without a gap. One that is just allowed goes through."""
    path = crew.folder / "stderr"
    running = crew.start("tests.processes.bodies:growing", "--max-body", "1KB", before=(*INTO_FILE, str(path)))

    seen = crew.wait_until_handled(4)
    assert running.end() == 0

    assert ledger(crew, "got") == [["1", "10"], ["2", "1024"], ["3", "20"], ["4", "30"]]
    assert (seen.published, seen.completed) == (4, 4)
    said = path.read_text()
    assert said.count("source.failed") == 1
    assert "a body of 1,025 bytes is larger than max_body allows" in said


class Watch:
    """Looks on while others work, and keeps the most that it saw."""

    def __init__(self, crew: Crew) -> None:
        self._inspector = Inspector(Server(crew.url), crew.namespace)
        self._link = Link(Server(crew.url), timeout=5)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.claimed = self.pending = self.memory = self.looks = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _look(self) -> None:
        while not self._over.wait(0.002):
            seen = self._inspector.snapshot()
            info = self._link.command("INFO", "memory").decode()
            memory = int(info.split("used_memory:", 1)[1].split("\r\n", 1)[0])
            self.claimed = max(self.claimed, *(each.claimed for each in seen.instances), 0)
            self.pending = max(self.pending, seen.pending)
            self.memory = max(self.memory, memory)
            self.looks += 1


def test_heavy_messages_are_claimed_by_their_weight(crew: Crew) -> None:
    """100 KB each, a batch of 1,000 allowed: a claim is bounded by bytes too, and the server's memory by max_pending."""
    options = ("tests.processes.bodies:heavy", "--batch", 1000, "--max-pending", MOST_PENDING)
    with closing(Link(Server(crew.url), timeout=5)) as link:
        before = int(link.command("INFO", "memory").decode().split("used_memory:", 1)[1].split("\r\n", 1)[0])

    with Watch(crew) as watch:
        for _ in range(3):
            crew.start(*options, environment={"HEAVY": str(HEAVY)})
        seen = crew.wait_until_handled(HEAVY, within=100)

    assert (seen.completed, seen.failed) == (HEAVY, 0), "a handler found other bytes"
    grown = watch.memory - before
    print(
        f"{HEAVY} messages: at most {watch.claimed} claimed, {watch.pending} pending, {grown / 2**20:.0f} MB; {watch.looks} looks"
    )
    assert watch.looks > 20
    # Without the bound one of three would claim 167 at once. A machine that has no time for it may claim again before it has
    # handled what it holds.
    assert watch.claimed <= 6 * CLAIM
    assert watch.pending <= MOST_PENDING + CLAIM + 1, "it is passed by one page at most"
    assert grown < 1.5 * MOST_PENDING * WEIGHT
