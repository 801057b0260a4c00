"""A private PostgreSQL for tests: started here, ended here, shared with nobody."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from soloist.lab.free_port import free_port
from tests.waiting import wait_until

SOMEBODY = "postgres"
"""PostgreSQL refuses to run as root; Debian's package brings this user."""

# Not even the operating system is waited for: what is written here is of no use after the test.
SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=100")


class PrivatePostgres:
    """A server of one's own on a loopback port, with as many new databases as are asked for."""

    def __init__(self) -> None:
        self._programs = require_postgres()
        # Not below pytest's folders, which are closed to others: as root the server runs as another user.
        self._scratch = tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True)
        self._folder = Path(self._scratch.name)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Make its files, start it and wait until it answers."""
        data = self._folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self._folder, SOMEBODY)
        made = subprocess.run(
            self._as_somebody(
                "initdb", "--auth=trust", "--username=test", "--encoding=UTF8", "--no-locale", "--no-sync", str(data)
            ),
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        assert made.returncode == 0, f"initdb failed:\n{made.stdout}{made.stderr}"
        said = ("listen_addresses=127.0.0.1", "unix_socket_directories=", *SETTINGS)
        words = [word for each in said for word in ("-c", each)]
        with (self._folder / "server.log").open("wb") as log:
            process = self._process = subprocess.Popen(
                self._as_somebody("postgres", "-D", str(data), "-p", str(self._port), *words),
                stdout=log,
                stderr=log,
                cwd="/",
            )
        weakref.finalize(self, _end, process)  # also when the interpreter ends
        wait_until(lambda: process.poll() is not None or self._answers(), what="PostgreSQL answers")
        assert process.poll() is None, f"PostgreSQL ended at once:\n{(self._folder / 'server.log').read_text()}"

    def database(self, schema: Path) -> str:
        """The address of a new database with these tables in it."""
        name = f"test_{uuid4().hex}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        with psycopg.connect(self._url(name), autocommit=True) as connection:
            connection.execute(schema.read_bytes())
        return self._url(name)

    def stop(self) -> None:
        """End it, whoever is still connected."""
        if self._process is not None:
            _end(self._process)
            self._process = None
        self._scratch.cleanup()

    def _url(self, database: str) -> str:
        return f"postgresql://test@127.0.0.1:{self._port}/{database}"

    def _as_somebody(self, program: str, *words: str) -> Sequence[str]:
        command = [str(self._programs / program), *words]
        if os.geteuid() != 0:
            return command
        somebody = pwd.getpwnam(SOMEBODY)
        return ["setpriv", f"--reuid={somebody.pw_uid}", f"--regid={somebody.pw_gid}", "--clear-groups", *command]

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def require_postgres() -> Path:
    """The folder of its programs. Without it the test is skipped; but in CI it fails, where nobody reads of skips."""
    on_path = shutil.which("initdb")
    # Debian keeps the programs of each version in a folder of their own, off the PATH.
    candidates = [*([Path(on_path).parent] if on_path else []), *_newest_first(Path("/usr/lib/postgresql"))]
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    reason = "there is no PostgreSQL here: install postgresql"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _newest_first(versions: Path) -> list[Path]:
    return sorted(versions.glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """SIGQUIT is its end without a checkpoint: nobody needs the data."""
    if process.poll() is None:
        process.send_signal(signal.SIGQUIT)
        process.wait(timeout=30)
