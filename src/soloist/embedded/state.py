"""The folder of the embedded server, and the file in it that says where the server is.

The folder is stable, so that data (and the errors in it) are still there the next day. It belongs to one user: two
users on a machine have two servers. server.json holds the password, so it is never readable by others, not even for
the moment between its creation and a chmod; and it is replaced in one step, so that a reader sees all of it or nothing.
"""

import json
import os
import pwd
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from soloist.errors import EmbeddedServerError

LOG_LIMIT_BYTES = 1_000_000
"""A larger server.log is put aside (one generation) at the next start, so that it does not grow for ever."""

ELSEWHERE = "name another folder with SOLOIST_HOME, or a running server with --url"
"""The remedy when the folder is the trouble."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Where a running server is. Written by its supervisor, read by everybody else."""

    port: int
    password: str
    pid: int
    supervisor: int
    version: str
    """Kind and version, such as "valkey 9.1.2"."""
    binary: str
    started_at: float
    """Wall clock, seconds."""

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"


@dataclass(frozen=True, slots=True)
class State:
    """The folder and the names in it. Making one touches nothing on the disk."""

    folder: Path

    @classmethod
    def locate(cls, folder: Path | None = None) -> Self:
        return cls((folder or _default_folder()).absolute())

    @property
    def users_lock(self) -> Path:
        return self.folder / "users.lock"

    @property
    def start_lock(self) -> Path:
        return self.folder / "start.lock"

    @property
    def supervisor_lock(self) -> Path:
        return self.folder / "supervisor.lock"

    @property
    def server_lock(self) -> Path:
        return self.folder / "server.lock"

    @property
    def stop_request(self) -> Path:
        return self.folder / "stop.request"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def _json(self) -> Path:
        return self.folder / "server.json"

    def prepare(self) -> None:
        """Create the folder, or check that it is ours alone to write in: a stranger's server.json is a trap."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = self.folder.stat()
        except OSError as error:
            raise unusable(self.folder, error) from error
        if found.st_uid != os.getuid():
            raise EmbeddedServerError(
                f"The folder of the embedded server, {self.folder}, belongs to user {found.st_uid}, "
                f"but this process runs as user {os.getuid()}: {ELSEWHERE}."
            )
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise EmbeddedServerError(
                f"Others may write to the folder of the embedded server, {self.folder}: "
                f"run `chmod 700 {self.folder}`, or {ELSEWHERE}."
            )

    def read(self) -> ServerInfo | None:
        """What server.json says; None when it is missing or not ours to understand."""
        try:
            return ServerInfo(**json.loads(self._json.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, info: ServerInfo) -> None:
        draft = self.folder / "server.json.new"  # only the one that holds supervisor.lock writes
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(asdict(info), file)
        draft.replace(self._json)

    def forget(self, *, supervisor: int | None = None) -> None:
        """Remove server.json; with `supervisor`, only if that one wrote it."""
        if supervisor is not None:
            info = self.read()
            if info is not None and info.supervisor != supervisor:
                return
        self._json.unlink(missing_ok=True)

    def make_room_in_log(self) -> None:
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_LIMIT_BYTES:
                self.log.replace(self.log.with_suffix(".log.old"))

    def log_size(self) -> int:
        try:
            return self.log.stat().st_size
        except OSError:
            return 0

    def last_lines(self, since: int = 0, count: int = 8) -> str:
        """The end of server.log, indented, for an error message; `since` is a size that it had before."""
        try:
            text = self.log.read_bytes()[since:].decode(errors="replace")
        except OSError:
            text = ""
        lines = text.strip().splitlines()[-count:]
        if not lines:
            return f"{self.log} says nothing (is the disk full?)"
        return "\n  ".join([f"the last lines of {self.log}:", *lines])


def unusable(folder: Path, error: OSError) -> EmbeddedServerError:
    reason = error.strerror or str(error)
    return EmbeddedServerError(f"The folder of the embedded server, {folder}, cannot be used ({reason}): {ELSEWHERE}.")


def _default_folder() -> Path:
    if home := os.environ.get("SOLOIST_HOME"):
        return Path(home).expanduser()
    # The XDG rules say that a relative path in this variable is to be ignored.
    state_home = Path(os.environ.get("XDG_STATE_HOME", ""))
    if state_home.is_absolute():
        return state_home / "soloist"
    try:
        # Not Path.home(): an empty HOME would be the root of the file system.
        return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir, ".local", "state", "soloist")
    except KeyError as error:
        raise EmbeddedServerError(
            f"The embedded server needs a folder, but this user has no home folder: {ELSEWHERE}."
        ) from error
