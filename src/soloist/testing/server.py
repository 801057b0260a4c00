"""Which server tests run on: one that is named, or a private one of this process, started when it is first asked for."""

import atexit
import os
import tempfile
import threading
from pathlib import Path

from soloist.errors import EmbeddedServerError
from soloist.lab.leashed import Leash
from soloist.lab.private_server import PrivateServer

VARIABLE = "SOLOIST_TEST_URL"

_lock = threading.Lock()
_started: "tuple[int, PrivateServer] | None" = None
"""In which process, and the server."""


def url_of(url: str | None = None) -> str:
    """Of the server to use: the one named here, else by SOLOIST_TEST_URL, else a private one."""
    return url or os.environ.get(VARIABLE) or _private().url


def is_private(url: str) -> bool:
    """Whether it ends with this process, with all that is on it."""
    return _started is not None and _started[1].url == url


def stop() -> None:
    """End the private server, if this process has one; the next who asks gets another."""
    global _started  # noqa: PLW0603 - one for the process
    with _lock:
        if _started is not None and _started[0] == os.getpid():
            _started[1].kill()  # it keeps nothing
        _started = None


def _private() -> PrivateServer:
    global _started  # noqa: PLW0603
    with _lock:
        if _started is None:  # a forked child uses that of its parent, which outlives it as far as tests go
            _started = os.getpid(), _start()
            atexit.register(stop)
        return _started[1]


def _start() -> PrivateServer:
    leash = Leash()
    if threading.current_thread() is not threading.main_thread():
        leash.preferred = "guard"  # the kernel would end it with the thread that started it
    # Its folder is removed as soon as it runs: it keeps nothing there, and who kills us with -9 leaves nothing behind.
    with tempfile.TemporaryDirectory(prefix="soloist-testing-", ignore_cleanup_errors=True) as folder:
        server = PrivateServer(leash, Path(folder), "no")
        try:
            server.start()
        except EmbeddedServerError as error:
            raise EmbeddedServerError(
                f"{error} (soloist.testing starts a private server; a running one is named with {VARIABLE} or url=…)"
            ) from None
        return server
