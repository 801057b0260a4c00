"""A TCP proxy between instances and their server that knows commands and replies, and does them harm when told to.

    with FaultProxy("127.0.0.1", 6379) as proxy:
        lost = proxy.rule(Drop(), matching=PUBLISH.sha)   # the reply to the next publish will not come
        lost.wait()                                       # now it has not come to an instance that uses proxy.url()
        proxy.strike(HalfOpen())                          # all connections, at once

Rules are made in any thread, and are in force when the call returns. The proxy has a thread of its own: functions that
rules are given are called in there.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Self, TypeVar

from soloist.chaos.connection import CHUNK, Connection
from soloist.chaos.faults import Fault
from soloist.chaos.rule import Matching, On, Rule

HERE = "127.0.0.1"

T = TypeVar("T")


def any_connection(_connection: Connection) -> bool:
    return True


class FaultProxy:
    """Use it as a context. At the end everything is closed, and a mistake in a rule's function is raised.

    Args:
        host: of the server.
        port: of the server.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._connections: list[Connection] = []
        self._rules: list[Rule] = []
        self._lasting: list[Rule] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: list[Exception] = []
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, tuple[str, int]]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="fault-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop, self._ending, self.address = self._started.result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._do(self._ending.set)
        self._thread.join()
        if error is None and self._failures:
            raise self._failures[0]

    def url(self, db: int = 0) -> str:
        """Where clients connect to."""
        return f"redis://{self.address[0]}:{self.address[1]}/{db}"

    @property
    def connections(self) -> list[Connection]:
        """Those that are open."""
        return self._connections.copy()

    def rule(
        self,
        fault: Fault,
        matching: Matching | None = None,
        nth: int | None = 1,
        *,
        answering: bytes = b"",
        on: On = any_connection,
    ) -> Rule:
        """Let a fault happen to a command or its reply.

        Args:
            fault: what happens.
            matching: which commands are meant, all if none are named.
            nth: the how many-th of them, counted from now on over all connections; None: every one.
            answering: only if the reply has this in it (a fault of the reply).
            on: only on connections of which this is true.
        """

        def arm() -> Rule:
            made = Rule(fault, on, matching, nth, answering)
            self._rules = [rule for rule in self._rules if rule.is_armed] + [made]
            return made

        return self._do(arm)

    def strike(self, fault: Fault, on: On = any_connection, *, lasting: bool = False) -> Rule:
        """Let a fault happen at once to all that goes over connections.

        Args:
            fault: what happens. One that happens to each command or reply does so until the rule is disarmed.
            on: to connections of which this is true.
            lasting: also to every new connection (of which nothing is known yet), until the rule is disarmed.
        """

        def arm() -> Rule:
            made = Rule(fault, on)
            self._lasting = [rule for rule in self._lasting if rule.is_armed] + ([made] if lasting else [])
            for connection in self._connections:
                self._apply(made, connection)
            return made

        return self._do(arm)

    def _do(self, action: Callable[[], T]) -> T:
        """Have it done in the proxy's thread."""

        async def act() -> T:
            return action()

        return asyncio.run_coroutine_threadsafe(act(), self._loop).result()

    # in the proxy's thread

    async def _run(self) -> None:
        ending = asyncio.Event()
        try:
            listener = await asyncio.start_server(self._accept, HERE, 0, limit=CHUNK)
        except OSError as error:
            self._started.set_exception(error)
            return
        self._started.set_result((asyncio.get_running_loop(), ending, listener.sockets[0].getsockname()))
        await ending.wait()
        listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_connection(*self._server, limit=CHUNK)
            connection = Connection((reader, writer), server, lambda: self._rules)
            self._connections.append(connection)
            try:
                for rule in self._lasting:
                    self._apply(rule, connection)
                await connection.carry()
            finally:
                self._connections.remove(connection)
        except OSError:
            pass  # there is no server: the client is told by the end of its connection
        except Exception as error:  # noqa: BLE001 - whatever a rule's function raises; told when the proxy is closed
            self._failures.append(error)
        finally:
            writer.close()

    def _apply(self, rule: Rule, connection: Connection) -> None:
        if rule.is_on(connection):
            rule.happened()
            rule.fault.strike(connection, rule)
