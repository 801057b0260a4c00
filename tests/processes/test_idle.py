"""What an idle handler costs the server: commands on the wire, counted by a relay between it and the server."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.processes.crew import Crew
from tests.waiting import wait_until


class CountingRelay:
    """A TCP relay that counts the commands that pass from clients to the server: arrays in the protocol."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.commands = 0
        self._spawn(self._accept)

    def _spawn(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._to_port))
                self._sockets += [client, server]
                self._spawn(self._pass, client, server, True)
                self._spawn(self._pass, server, client, False)

    def _pass(self, source: socket.socket, to: socket.socket, count: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.commands += count and (data.startswith(b"*") + data.count(b"\r\n*"))
                to.sendall(data)
        with contextlib.suppress(OSError):
            to.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for each in (self._listening, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)


@pytest.fixture
def relay(crew: Crew) -> Iterator[CountingRelay]:
    made = CountingRelay(urlsplit(crew.url).port or 6379)
    yield made
    made.close()


def test_an_idle_handler_sends_fewer_than_ten_commands_a_second(crew: Crew, relay: CountingRelay) -> None:
    """It waits at the bell and beats; it never polls. This one is the first in line, which beats most often."""
    crew.start("--interval", 3600)
    through_relay = Crew(f"redis://127.0.0.1:{relay.port}/0", crew.namespace, crew.folder)
    handler = through_relay.start("--interval", 3600)
    wait_until(lambda: handler.id in crew.snapshot().line, what="it is in line")
    wait_until(lambda: handler.told("handled"), what="the first message is handled")
    try:
        counted, since = relay.commands, time.monotonic()
        wait_until(lambda: time.monotonic() - since > 5, what="five seconds pass")
        rate = (relay.commands - counted) / (time.monotonic() - since)
    finally:
        through_relay.release()

    assert 1 < rate < 10
