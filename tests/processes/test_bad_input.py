"""A wrong command, option or setting: exit 2, and a sentence that names it, where it came from, and what is allowed."""

import os
from pathlib import Path

import pytest

from soloist.settings import NAMES, allowed
from tests.processes.one_command import USAGE, Ended, Says, soloist

NOWHERE = ("--addr", "127.0.0.1:1")
"""A server that is not there: what is refused here is refused before anybody looks for it."""


def assert_names(ended: Ended, *parts: str) -> None:
    assert ended.code == USAGE, ended
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    for part in parts:
        assert part in ended.stderr, ended


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--interval", "-1"], ["--interval", "'-1' is not allowed", "0 to 31536000"]),
        (["--interval", "nan"], ["--interval", "'nan' is not allowed"]),
        (["--interval", "1e10"], ["--interval", "0 to 31536000"]),
        (["--interval", "soon"], ["--interval", "a number of seconds"]),
        (["--error-rate", "7"], ["--error-rate", "'7' is not allowed", "0 to 1"]),
        (["--error-rate", "nan"], ["--error-rate", "0 to 1"]),
        (["--count", "x"], ["--count", "'x' is not allowed", "a whole number, 1 to 2^53"]),
        (["--count", "0"], ["--count", "1 to 2^53"]),
        (["--count", "1.5"], ["--count", "a whole number"]),
        (["--until-empty"], ["--until-empty needs --count"]),
        (["--port", "0"], ["--port", "1 to 65535"]),
        (["--port", "x"], ["--port", "1 to 65535"]),
        (["--db", "-1"], ["--db", "0 or more"]),
        (["--lease", "0.1"], ["--lease", "0.2 to 3600"]),
        (["--heartbeat", "1", "--lease", "2"], ["lease (2 s) must be at least 4 times heartbeat (1 s)", "--heartbeat"]),
        (["--batch", "many"], ["--batch", "auto, or 1 to 1000"]),
        (["--role", "boss"], ["--role", "any", "handler"]),
        (["--log-level", "loud"], ["--log-level", "debug", "error"]),
        (["--addr", "nonsense"], ["--addr", "HOST:PORT"]),
        (["--url", "http://localhost"], ["--url", "redis://"]),
        (["--url", "redis://localhost", "--port", "1"], ["--url, --host: name the server in one way only"]),
        (["--namespace", "two words", *NOWHERE], ["--namespace", "1 to 128"]),
        (["--namespace", "", *NOWHERE], ["--namespace", "not ''"]),
        (["purge", "--yes", "--namespace", "", *NOWHERE], ["--namespace", "not ''"]),
        (["getErrors", "--limit", "0"], ["--limit", "1 to 2^53"]),
        (["errors", "list", "--limit", "few"], ["--limit", "1 to 2^53"]),
        (["status", "--watch", "0"], ["--watch", "between 0 and 3600"]),
        (["status", "--check", "--watch"], ["--check and --watch exclude each other"]),
        (["errors", "requeue", *NOWHERE], ["--all"]),
        (["no.such.module:app", *NOWHERE], ["no.such.module"]),
        (["run", "frobnicate", *NOWHERE], ["'frobnicate' is not MODULE:APP"]),
        (["tests.processes.apps:nothing", *NOWHERE], ["tests.processes.apps:nothing", "has no 'nothing'"]),
        (["tests.processes.apps:FOLDER", *NOWHERE], ["not a soloist.App"]),
        (["tests.processes.apps:gated"], ["needs a server", "--embedded"]),
        (["tests.processes.apps:gated", "--count", "3", *NOWHERE], ["--count", "default application"]),
        (["frobnicate"], ["No such command 'frobnicate'"]),
        (["errors", "frobnicate"], ["No such command 'frobnicate'"]),
        (["--frobnicate"], ["--frobnicate"]),
        (["status", "--force"], ["--force"]),
        (["status", "more"], ["more"]),
        (["errors", "show"], ["ID"]),
    ],
    ids=lambda each: " ".join(each) if each and each[0].startswith("-") else None,
)
def test_wrong_usage_is_named_with_what_is_allowed(says: Says, words: list[str], parts: list[str]) -> None:
    assert_names(says(*words), *parts)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--interval", "-1"], "--interval"),
        (["--until-empty"], "--until-empty"),
        (["frobnicate"], "frobnicate"),
        (["--config", "/nowhere.toml"], "/nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_process_ends_with_the_code_for_wrong_usage(words: list[str], part: str) -> None:
    """For real."""
    assert_names(soloist(*words), part)


# Files.


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("lease = 2\n\nleese = 3\n", ["line 3: unknown setting 'leese'", "known are lease, claim_lease"]),
        ("\nlease = 0\n", ["line 2: lease: 0 is out of range", "0.2 to 3600"]),
        ('max_body = "16 TB"\n', ["line 1: max_body: '16 TB' is not allowed", "1 to 256 MB"]),
        ("lease = 2\nheartbeat = 1\n", ["4 times heartbeat", "line 1: lease", "line 2: heartbeat"]),
        ("lease = 2\nurl = 7\n", ["line 2: url: 7 must be text"]),
        ('\nurl = "http://one"\n', ["line 2: url"]),
        ('\nnamespace = ""\n', ["line 2: namespace"]),
        ("lease = 2\nlease\n", ["line 2"]),
        ("lease = 2\n\nname = '\udcff'\n", ["line 3: this is not UTF-8 text"]),
    ],
)
def test_a_wrong_settings_file_is_named_with_the_line(
    says: Says, tmp_path: Path, content: str, parts: list[str]
) -> None:
    """The file as it was named, or the one in the current folder."""
    path = tmp_path / "wrong.toml"
    path.write_bytes(content.encode(errors="surrogateescape"))

    assert_names(says("status", "--config", str(path)), str(path), *parts)


def test_the_file_in_the_current_folder_is_named(says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody named it, so its name is all the more needed."""
    monkeypatch.chdir(tmp_path)
    Path("soloist.toml").write_text("leese = 3\n")

    assert_names(says("status", *NOWHERE), "soloist.toml, line 1: unknown setting 'leese'")


def test_a_folder_in_place_of_the_file_is_named(says: Says, tmp_path: Path) -> None:
    """What the system says is passed on."""
    assert_names(says("status", "--config", str(tmp_path)), f"{tmp_path}: cannot be read: Is a directory")


@pytest.mark.ordinary_user
@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(says: Says, tmp_path: Path) -> None:
    """The same."""
    path = tmp_path / "secret.toml"
    path.touch(mode=0o000)

    assert_names(says("status", "--config", str(path)), f"{path}: cannot be read: Permission denied")


# The environment.


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_that_does_not_parse_is_named_with_the_range(
    says: Says, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every setting, for any command."""
    monkeypatch.setenv(f"SOLOIST_{name.upper()}", "soon")

    assert_names(says("status", *NOWHERE), f"SOLOIST_{name.upper()}: 'soon' is not allowed", allowed(name))


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("SOLOIST_URL", "http://one", "redis://"),
        ("SOLOIST_URL", "", "redis://"),
        ("SOLOIST_NAMESPACE", "two words", "1 to 128"),
        ("SOLOIST_NAMESPACE", "", "not ''"),
        ("SOLOIST_LEESE", "3", "is SOLOIST_LEASE meant?"),
    ],
)
def test_a_variable_that_is_wrong_is_named(
    says: Says, variable: str, value: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is empty: something was meant by it."""
    monkeypatch.setenv(variable, value)

    assert_names(says("status", *([] if variable == "SOLOIST_URL" else NOWHERE)), variable, part)


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "1e9", ""])
def test_the_time_that_the_embedded_server_stays_is_checked(
    says: Says, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is begun: its folder is not even made."""
    monkeypatch.setenv("SOLOIST_EMBEDDED_LINGER", value)
    monkeypatch.setenv("SOLOIST_HOME", str(tmp_path / "home"))

    assert_names(says("status", "--embedded"), "SOLOIST_EMBEDDED_LINGER", "0 to 86400")
    assert not (tmp_path / "home").exists()


def test_a_variable_counts_in_a_process_too() -> None:
    """For real."""
    assert_names(soloist(*NOWHERE, environment={"SOLOIST_LEASE": "soon"}), "SOLOIST_LEASE", "0.2 to 3600")


# Modules.


def test_a_module_that_ends_the_process_is_named(says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit code is not ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("quitting_module.py").write_text("import sys\n\nsys.exit(7)\n")

    assert_names(says("quitting_module:app", *NOWHERE), "importing it failed: SystemExit: 7", "line 3")


# Help.


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["getErrors", "--help"], ["--version"]])
def test_help_is_an_answer(says: Says, words: list[str]) -> None:
    ended = says(*words)

    assert ended.code == 0
    assert "soloist" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("every=-1", "every=-1 is not possible; write 0.01 to"),
        ("'0 3 * *'", "'0 3 * *' is no cron expression"),
        ("every=1, tz='Berlin'", "tz='Berlin' is no time zone"),
        ("every=1, overlap='wait'", "overlap='wait' is not possible; write allow, skip, queue"),
    ],
)
def test_a_schedule_that_cannot_be_is_named_with_its_place(
    says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, part: str
) -> None:
    """Function, file and line; nobody looks for the server before."""
    name = f"scheduling{abs(hash(arguments))}"
    (tmp_path / f"{name}.py").write_text(
        f"from soloist import App\napp = App('x')\n\n@app.schedule({arguments})\ndef job(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert_names(says(f"{name}:app", *NOWHERE), f"job ({name}.py, line 4): ", part)
