"""How this one process is: told to a probe over HTTP (`run --health-port`) and to systemd.

Alive: its threads run, and its heart tries. A server that is away is no reason to restart a process, so that does not
count. Ready: it takes part; the server has answered its last beat within a lease, and it is not leaving.
Whether the whole system is well is another question (`status --check`).
"""

import json
import logging
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol

from soloist.errors import UsageError

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

PATIENCE = 1.0
"""Seconds for which systemd may be too busy to be told: nothing of ours waits longer for it."""

log = logging.getLogger("soloist")


class Alive(Protocol):
    """Whatever systemd is told about."""

    @property
    def is_alive(self) -> bool: ...


class Wellness:
    """Looks at an instance from within its process."""

    def __init__(self, instance: "Instance") -> None:
        self._instance = instance

    @property
    def is_alive(self) -> bool:
        instance = self._instance
        return instance.failure is None and instance.is_sound and instance.heart.is_trying

    @property
    def is_ready(self) -> bool:
        instance = self._instance
        return self.is_alive and not instance.is_leaving and instance.heart.silent_for < instance.settings.lease

    def as_dict(self) -> dict[str, Any]:
        instance = self._instance
        return {
            "alive": self.is_alive,
            "ready": self.is_ready,
            "role": "generator" if instance.played else "handler",
            "number": instance.incarnation.number,
            "instance": instance.incarnation.id,
            "heard_ms": round(instance.heart.silent_for * 1000),
        }


class HealthPort:
    """Answers GET /livez and /readyz with 200 or 503, on a thread of its own."""

    def __init__(self, wellness: Wellness, host: str, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers = {"/livez": wellness.is_alive, "/readyz": wellness.is_ready}
                path = self.path.partition("?")[0]
                code = 404 if path not in answers else 200 if answers[path] else 503
                body = json.dumps(wellness.as_dict()).encode() + b"\n"
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
                log.debug("probe.asked %s", format % args)

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise UsageError(f"--health-port: {host}:{port} cannot be used: {error.strerror}. Name another.") from None
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, name="health-port", daemon=True).start()


class Systemd:
    """Tells systemd (Type=notify) that we are ready, alive (WatchdogSec=) and stopping. Does nothing elsewhere."""

    def __init__(self, wellness: Alive) -> None:
        self._wellness = wellness
        self._address = os.environ.get("NOTIFY_SOCKET", "")
        watched = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self._every = int(os.environ.get("WATCHDOG_USEC", "0")) / 2_000_000 if watched else 0.0
        self._stopping = threading.Event()

    def ready(self) -> None:
        self._tell("READY=1")
        if self._address and self._every:
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stopping(self) -> None:
        self._stopping.set()
        self._tell("STOPPING=1")

    def _watch(self) -> None:
        while not self._stopping.wait(self._every):
            if self._wellness.is_alive:
                self._tell("WATCHDOG=1")

    def _tell(self, text: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                notify.settimeout(PATIENCE)
                notify.sendto(text.encode(), address)
        except OSError as error:
            log.warning("systemd.unreachable reason=%r", str(error))
