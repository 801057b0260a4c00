"""`soloist timeline`: the page of a real system, and what happens when it cannot be had."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TextIO

import pytest

from soloist.store.log import KEPT
from tests.processes.crew import ROOT, SOLOIST, Crew
from tests.processes.one_command import OUTPUT, SERVER, USAGE, Says
from tests.servers import PrivateServer, Store
from tests.store.acting import Instance
from tests.waiting import wait_until


@pytest.fixture
def idle(store: Store) -> Store:
    """A namespace in which somebody was."""
    instance = Instance(store)
    instance.join()
    instance.beat()
    instance.leave()
    return store


@pytest.fixture
def connection(idle: Store, server: PrivateServer) -> tuple[str, ...]:
    return ("--url", server.url, "--namespace", idle.keys.namespace)


def sentences(page: str) -> list[str]:
    """The table below the drawing."""
    return [unescape(each) for each in re.findall(r"<td>[^<]*</td><td>([^<]*)</td>", page)]


def test_the_page_shows_a_kill_a_freeze_and_a_leave(crew: Crew) -> None:
    """Real instances: one is killed while it generates, its successor is frozen beyond the lease, another leaves."""
    options = ("--interval", 0.05, "--lease", 1, "--heartbeat", 0.05)
    everyone = [crew.start(*options) for _ in range(4)]
    wait_until(lambda: any(line.endswith(b" 1") for line in crew.line()), what="somebody may judge")
    killed = crew.generator_of(everyone)
    killed.kill()
    frozen = crew.generator_of([each for each in everyone if each is not killed])
    wait_until(lambda: len(crew.history()) >= 3, what="there are rates")
    wait_until(lambda: any(line.endswith(b" 1") for line in crew.line()), what="somebody may judge")
    frozen.freeze()
    third = crew.generator_of([each for each in everyone if each not in (killed, frozen)])
    frozen.thaw()
    frozen.wait_for("superseded")
    leaver = next(each for each in everyone if each not in (killed, frozen, third))
    assert leaver.end() == 0

    path = crew.folder / "incident.html"
    done = crew.command("timeline", "--since", "10m", "--out", str(path))

    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"{re.escape(str(path))}: .* to .*, 4 instances, 3 elections, \d+ transitions\n", done.stdout)
    page = path.read_text()
    numbers = {each: each.told("joined")[0]["number"] for each in everyone}
    told = sentences(page)
    assert f"#{numbers[killed]} is gone (its process ended); it held nothing" in told
    assert f"#{numbers[leaver]} left in order" in told
    assert sum("is the generator now" in each for each in told) == 3
    assert any(f"by #{numbers[frozen]} came too late and was refused" in each for each in told)
    for title in (
        f"#{numbers[frozen]} not heard",
        f"#{numbers[killed]} generator, term 1",
        f"#{numbers[third]} generator, term 3",
        "no generator was heard for",
    ):
        assert f"<title>{title}" in page
    assert 'class="line published-line' in page


def test_its_sentences_are_those_of_the_log(connection: tuple[str, ...], says: Says, tmp_path: Path) -> None:
    """The same order, the same words."""
    logged = [line.split("  ", 1)[1] for line in says("log", *connection).stdout.splitlines()]
    says("timeline", "--out", str(tmp_path / "page.html"), *connection)

    assert sentences((tmp_path / "page.html").read_text()) == logged
    assert len(logged) >= 3


def test_it_can_be_written_to_stdout(connection: tuple[str, ...], says: Says) -> None:
    """Then what else there is to say goes to stderr."""
    ended = says("timeline", "--out", "-", *connection)

    assert ended.code == 0
    assert ended.stdout.startswith("<!doctype html>")
    assert ended.stdout.endswith("</html>\n")
    assert ended.stderr.startswith("-: ")


def test_it_goes_to_the_current_folder_unless_it_is_told_where(
    connection: tuple[str, ...], says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And replaces what is there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "timeline.html").write_text("of another day")

    assert says("timeline", *connection).stdout.startswith("timeline.html: ")
    assert "<svg" in (tmp_path / "timeline.html").read_text()


def test_a_window_that_the_log_does_not_reach_back_to_is_named(
    connection: tuple[str, ...], says: Says, idle: Store, tmp_path: Path
) -> None:
    """In the terminal and on the page: what is missing must not look as if nothing had happened."""
    for _ in range(KEPT + 200):
        idle.link.command("XADD", idle.keys.log, "MAXLEN", "~", KEPT, "*", "event", "failed", "messages", 1)

    ended = says("timeline", "--since", "1h", "--out", str(tmp_path / "page.html"), *connection)

    assert "The log keeps about the last 1,000 transitions, and reaches back to " in ended.stderr
    assert "The log keeps about the last 1,000 transitions" in (tmp_path / "page.html").read_text()


def test_the_scripts_keep_as_many_entries_as_is_said(idle: Store) -> None:
    """Fewer than that, and nothing was ever dropped."""
    script = (ROOT / "src/soloist/store/lua/lib/log.lua").read_text()

    assert f"'MAXLEN', '~', {KEPT}," in script


# What is refused.


def test_an_empty_namespace_says_so(says: Says, server: PrivateServer, tmp_path: Path) -> None:
    """And writes no page."""
    path = tmp_path / "page.html"
    ended = says("timeline", "--out", str(path), "--url", server.url, "--namespace", "nobody-is-here")

    assert ended.code == 0
    assert "namespace 'nobody-is-here'" in ended.stderr
    assert "is empty" in ended.stderr
    assert not path.exists()


@pytest.mark.parametrize("age", ["yesterday", "15", "-5m", "", "15 m", "1e3s", "٣s"])
def test_a_length_of_time_that_is_none_is_named(says: Says, age: str) -> None:
    ended = says("timeline", "--since", age, "--addr", "127.0.0.1:1")

    assert ended.code == USAGE
    assert f"{age!r} is no length of time such as 90s, 15m, 2h or 1d." in ended.stderr


@pytest.mark.parametrize("age", ["0s", "0.0001s", "99999999999999999999d", "9" * 400 + "d"])
def test_any_length_of_time_is_a_page(connection: tuple[str, ...], says: Says, age: str, tmp_path: Path) -> None:
    """However short or long."""
    ended = says("timeline", "--since", age, "--out", str(tmp_path / "page.html"), *connection)

    assert ended.code == 0, ended
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_a_file_that_cannot_be_written_is_named(connection: tuple[str, ...], says: Says, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "page.html"

    says("timeline", "--out", str(path), *connection).assert_refused(OUTPUT, str(path), "No such file or directory")


def test_a_folder_is_no_file(connection: tuple[str, ...], says: Says, tmp_path: Path) -> None:
    ended = says("timeline", "--out", str(tmp_path), *connection)

    assert ended.code == USAGE
    assert "is a directory" in ended.stderr


@pytest.mark.parametrize("out", ["-", "/dev/full"])
def test_a_full_disk_is_told(
    connection: tuple[str, ...], says: Says, out: str, full: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stdout and in a file: exit 4."""
    if out == "-":
        monkeypatch.setattr(sys, "stdout", full)

    says("timeline", "--out", out, *connection).assert_refused(OUTPUT, "No space left on device")


def test_a_server_that_is_not_there_is_named(says: Says, tmp_path: Path) -> None:
    path = tmp_path / "page.html"

    assert says("timeline", "--out", str(path), "--addr", "127.0.0.1:1").code == SERVER
    assert not path.exists()


def test_a_reader_that_went_is_no_failure(connection: tuple[str, ...]) -> None:
    """`| head -1`: exit 0, no traceback."""
    words = [*SOLOIST, "timeline", "--out", "-", *connection]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as writing:
        assert writing.stdout is not None
        assert writing.stderr is not None
        writing.stdout.close()
        assert writing.wait(timeout=30) == 0
        assert "Traceback" not in writing.stderr.read()
