"""What the runtime's links are made of in a simulation: connections that behave as the client library's do."""

from typing import Any

from redis.exceptions import ConnectionError as Broken
from redis.exceptions import TimeoutError as TooLate

from soloist.store.server import Server
from tests.simulation.network import Network, Stream
from tests.simulation.process import Process
from tests.simulation.simulated import stage

LONGEST_CONNECT = 2.0


class Connection:
    """As a link uses `redis.connection.Connection`."""

    def __init__(self, network: Network, timeout: float) -> None:
        self._network = network
        self._timeout = timeout
        self._stream: Stream | None = None

    def connect(self) -> None:
        if self._stream is None:
            owner = stage.scheduler.current.owner
            assert isinstance(owner, Process)
            self._stream = self._network.connect(owner, min(self._timeout, LONGEST_CONNECT))

    def disconnect(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def send_packed_command(self, chunks: list[bytes]) -> None:
        assert self._stream is not None, "a link connects first"
        try:
            self._stream.send(b"".join(chunks))
        except Broken:
            self.disconnect()
            raise

    def read_response(self) -> Any:
        if self._stream is None:
            raise Broken("Connection closed by server.")
        try:
            return self._stream.receive(self._timeout)
        except (Broken, TooLate):
            self.disconnect()  # as the client library does it
            raise

    def can_read(self, within: float) -> bool:
        if self._stream is None:
            raise Broken("Connection closed by server.")
        return self._stream.wait(within)

    @property
    def _sock(self) -> "_Socket | None":
        return None if self._stream is None else _Socket(self._stream)


class _Socket:
    """What another thread takes hold of."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def shutdown(self, _how: int) -> None:
        self._stream.shut()

    def close(self) -> None:
        self._stream.shut()


class SimulatedServer(Server):
    """Where the server is: at the other end of the simulated network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        super().__init__("redis://simulated:1")

    def connection(self, timeout: float) -> Any:
        return Connection(self._network, timeout)
