"""The users' side: find the server of this folder, or start it.

A process that uses the server holds users.lock from before it looks until it dies. Joining needs no other lock, so a
process that is frozen in the middle of a start holds up nobody once the server is there.
"""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

from soloist.embedded import probe
from soloist.embedded.linger import linger
from soloist.embedded.locks import RETRY_S, FileLock, is_held
from soloist.embedded.state import ServerInfo, State, unusable
from soloist.errors import EmbeddedServerError

START_WITHIN_S = 30.0
"""For all of joining or starting. A server with gigabytes to read may need longer; the message then says so."""


class Embedded:
    """A share in the embedded server: while it is held (and the process lives), the server stays.

    Forked children have no share of their own until they call `ensure()`.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.folder = state.folder
        self._users: FileLock | None = None
        self._info: ServerInfo
        self.started = False
        self.ensure()

    @property
    def url(self) -> str:
        return self._info.url

    @property
    def port(self) -> int:
        return self._info.port

    @property
    def pid(self) -> int:
        return self._info.pid

    def ensure(self) -> None:
        """Have a server that answers: join the one that is there, else start one. Updates `url`.

        For a user whose connection was refused. A server that was started anew has another port and password. One
        whose supervisor was killed this very moment may still answer, and be gone a tenth of a second later: whoever is
        refused again calls again.
        """
        deadline = time.monotonic() + START_WITHIN_S
        had_share = self._users is not None and self._users.held
        try:
            if not had_share:
                self._users = self._share(deadline)
            self._info, self.started = _join_or_start(self._state, deadline)
        except BaseException as error:
            if not had_share:
                self.release()
            if isinstance(error, OSError):
                raise unusable(self.folder, error) from error
            raise

    def release(self) -> None:
        """Give the share back. The server stops when nobody has had one for a while."""
        if self._users is not None:
            self._users.release()
            self._users = None

    def _share(self, deadline: float) -> FileLock:
        users = FileLock.wait(self._state.users_lock, until=deadline, shared=True)
        if users is None:
            raise EmbeddedServerError(
                f"The embedded server in {self.folder} has been stopping for {START_WITHIN_S:g} s: "
                f"see {self._state.log}, or name a running server with --url."
            )
        os.utime(users.descriptor)  # the trace of a visit that is shorter than the supervisor's look
        return users


def acquire(folder: Path | None = None) -> Embedded:
    """Use the embedded server of this user on this machine; start it if it does not run."""
    linger()  # a value that cannot be read is refused before anything is begun
    state = State.locate(folder)
    state.prepare()
    return Embedded(state)


def _join_or_start(state: State, deadline: float) -> tuple[ServerInfo, bool]:
    """Where the server is, and whether it was this call that started it."""
    started = False
    while True:
        info = answer = None
        if is_held(state.supervisor_lock):
            # One that starts, loads, ends or is stuck is never replaced: its supervisor will come to a result.
            info = state.read()
            if info is not None:
                answer = probe.ping(info.port, info.password)
                if answer is probe.Answer.READY:
                    return info, started
        elif (turn := FileLock.attempt(state.start_lock)) is not None:
            with turn:
                if not is_held(state.supervisor_lock):
                    started = _start_supervisor(state, deadline)
                    continue
        if time.monotonic() >= deadline:
            raise _no_answer(state, info, answer)
        time.sleep(RETRY_S)


def _start_supervisor(state: State, deadline: float) -> bool:
    """Start one and wait for its report. False when another one was quicker. Only with start.lock."""
    state.make_room_in_log()
    reading, writing = os.pipe()  # neither end is inherited, but for the one that is named below
    with os.fdopen(reading, "rb") as reports:
        try:
            with os.fdopen(os.open(state.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as log:
                said_before = state.log_size()
                child = subprocess.Popen(
                    # -P: nothing in the current folder may pass for a module.
                    [sys.executable, "-P", "-m", "soloist.embedded.supervisor", str(state.folder), str(writing)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(writing,),
                    start_new_session=True,
                    env=_environment(),
                )
        finally:
            os.close(writing)
        child.wait()  # it forks at once, see there
        if not select.select([reports], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return True  # it has to read a lot; the caller says so
        line = reports.readline()
    if not line:
        raise EmbeddedServerError(
            f"The supervisor of the embedded server in {state.folder} ended at its start; "
            f"{state.last_lines(said_before)}\nRemedy: see there, or name a running server with --url."
        )
    report = json.loads(line)
    if report["error"]:
        raise EmbeddedServerError(report["error"])
    return bool(report["started"])


def _environment() -> dict[str, str]:
    """Ours, and a path that leads to this very package: it may have been found through sys.path alone."""
    root = Path(__file__).parents[2]
    environment = dict(os.environ)
    # An installed package is found anyway, and its neighbours must not come before the standard library.
    if root.name not in {"site-packages", "dist-packages"}:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), str(root)]))
    return environment


def _no_answer(state: State, info: ServerInfo | None, answer: probe.Answer | None) -> EmbeddedServerError:
    where = f"The embedded server in {state.folder}"
    if info is None or answer is None:
        return EmbeddedServerError(
            f"{where} has been starting or stopping for {START_WITHIN_S:g} s (a lot of data, or a frozen process): "
            f"try again, see {state.log}, or name a running server with --url."
        )
    if answer is probe.Answer.ABSENT:
        return EmbeddedServerError(
            f"{where} is supervised, but nothing of ours answers at 127.0.0.1:{info.port}: if the folder is shared with "
            "another machine or container, name a folder of its own with SOLOIST_HOME; "
            f"otherwise its supervisor, process {info.supervisor}, is frozen."
        )
    return EmbeddedServerError(
        f"{where}, process {info.pid} at port {info.port}, is there but {answer} for {START_WITHIN_S:g} s: "
        "wait until it is done, or end it with `soloist server stop`."
    )
