"""A wrong option or server gets a sentence and the right exit code, never a traceback."""

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.crew import ROOT, SOLOIST
from tests.servers import PrivateServer

USAGE, SERVER = 2, 3


def soloist(*words: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SOLOIST, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=30,
        check=False,
        env={**os.environ, **(environment or {})},
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--interval", "-1"], "--interval"),
        (["--error-rate", "7"], "--error-rate"),
        (["--count", "x"], "--count"),
        (["--until-empty"], "--count"),
        (["--lease", "0.1"], "--lease"),
        (["--heartbeat", "1", "--lease", "2"], "heartbeat"),
        (["--batch", "many"], "--batch"),
        (["--addr", "nonsense"], "--addr"),
        (["--url", "http://localhost"], "--url"),
        (["--url", "redis://localhost", "--port", "1"], "--url"),
        (["--namespace", "two words", "--port", "1"], "--namespace"),
        (["--config", "/nowhere.toml"], "/nowhere.toml"),
        (["no.such.module:app", "--port", "1"], "no.such.module"),
        (["tests.processes.apps:nothing", "--port", "1"], "nothing"),
        (["tests.processes.apps:FOLDER", "--port", "1"], "not a soloist.App"),
        (["tests.processes.apps:gated"], "needs a server"),
        (["tests.processes.apps:gated", "--count", "3", "--port", "1"], "--count"),
        (["frobnicate"], "frobnicate"),
        (["--frobnicate"], "--frobnicate"),
    ],
)
def test_wrong_usage_is_named_and_exits_2(words: list[str], named: str) -> None:
    done = soloist(*words)

    assert done.returncode == USAGE, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_an_environment_variable_that_does_not_parse_is_named() -> None:
    done = soloist("--port", "1", environment={"SOLOIST_LEASE": "soon"})

    assert done.returncode == USAGE
    assert "SOLOIST_LEASE" in done.stderr


@pytest.mark.parametrize("command", ["run", "status", "getErrors", "doctor", "clean", "purge"])
def test_a_server_that_is_not_there_exits_3_and_says_what_was_tried(command: str) -> None:
    done = soloist(command, "--addr", "127.0.0.1:1")

    assert done.returncode == SERVER, done.stderr
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_password_is_never_repeated_in_the_message(server: PrivateServer) -> None:
    done = soloist("status", "--url", server.url.replace("redis://", "redis://:hunter2@"))

    assert done.returncode == SERVER
    assert "hunter2" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_that_does_not_exist_exits_3(server: PrivateServer) -> None:
    done = soloist("status", "--host", "127.0.0.1", "--port", str(server.port), "--db", "99")

    assert done.returncode == SERVER, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["getErrors", "--help"], ["--version"]])
def test_help_is_an_answer(words: list[str]) -> None:
    done = soloist(*words)

    assert done.returncode == 0
    assert "soloist" in done.stdout


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[PrivateServer]:
    """A server that wants a password."""
    made = PrivateServer("valkey", tmp_path, options={"requirepass": "secret"})
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize("command", ["run", "status", "getErrors", "doctor", "clean", "purge"])
def test_a_missing_password_is_a_refusal_with_its_remedy(guarded: PrivateServer, command: str) -> None:
    done = soloist(command, "--addr", f"127.0.0.1:{guarded.port}")

    assert done.returncode == SERVER
    assert "A password goes into --url" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["run", "status", "doctor"])
def test_something_else_that_answers_there_is_no_redis(command: str) -> None:
    """An HTTP server, say: a sentence, not a riddle about bytes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>")

    threading.Thread(target=answer, daemon=True).start()
    with listening:
        done = soloist(command, "--addr", f"127.0.0.1:{listening.getsockname()[1]}")

    assert done.returncode == SERVER
    assert "is no Redis" in done.stderr
    assert "Traceback" not in done.stderr
