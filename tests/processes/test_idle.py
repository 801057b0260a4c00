"""What an idle handler costs the server: commands on the wire, counted by a relay between it and the server."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.processes.crew import Crew
from tests.waiting import wait_until


class CountingRelay:
    """A TCP relay that counts the commands that pass from clients to the server: arrays in the protocol."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self.commands = 0
        self.port = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await server.serve_forever()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, downstream = await asyncio.open_connection("127.0.0.1", self._to_port)
        await asyncio.gather(self._pass(reader, downstream, count=True), self._pass(upstream, writer, count=False))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                self.commands += count and (data.startswith(b"*") + data.count(b"\r\n*"))
                writer.write(data)
                await writer.drain()
        writer.close()

    def close(self) -> None:
        def cancel() -> None:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()

        self._loop.call_soon_threadsafe(cancel)
        self._thread.join(10)


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
