"""A rule: when a fault happens, to what, and whether it has."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

from soloist.chaos.faults import Fault
from soloist.chaos.resp import Command

if TYPE_CHECKING:
    from soloist.chaos.connection import Connection

NOT_CARRIED_OUT = b"-NOSCRIPT"
"""The answer to a digest that the server does not know: the script's text comes next, and its reply is the one meant."""

Matching: TypeAlias = str | Callable[[Command], bool]
"""Commands by their name, by the digest of the script that they call, or by a look at them."""

On: TypeAlias = "Callable[[Connection], bool]"


class Rule:
    """Made by `FaultProxy.rule` and `FaultProxy.strike`. As a context it is released at the end.

    Attributes:
        seen: how many commands or replies there were that it is about, harmed or not.
        count: how often its fault has happened.
        caught: the commands to which it happened.
        fired: set when it has happened.
        is_armed: it may happen (again).
        is_released: it holds nothing back (any more).
    """

    def __init__(
        self, fault: Fault, on: On, matching: Matching | None = None, nth: int | None = None, answering: bytes = b""
    ) -> None:
        self.fault = fault
        self.seen = 0
        self.count = 0
        self.caught: list[Command] = []
        self.fired = threading.Event()
        self.is_armed = True
        self._on = on
        self._matching = matching
        self._nth = nth
        self._answering = answering
        self._letting_go = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    # for whoever made it, in any thread

    def wait(self, within: float = 30.0) -> Self:
        """Wait until it has happened.

        Raises:
            TimeoutError: it has not.
        """
        if not self.fired.wait(within):
            raise TimeoutError(f"{self.fault} has not happened within {within:g} s, {self.seen} were seen")
        return self

    def disarm(self) -> None:
        """It happens no more; what it holds back stays held back."""
        self.is_armed = False

    def release(self) -> None:
        """It happens no more, and what it holds back goes on its way."""
        self.disarm()
        with suppress(RuntimeError):  # the proxy is closed
            self._loop.call_soon_threadsafe(self._letting_go.set)

    # in the proxy's thread

    @property
    def is_released(self) -> bool:
        return self._letting_go.is_set()

    async def hold(self, seconds: float | None) -> None:
        """Wait so long, None for ever; or until it is released."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._letting_go.wait(), seconds)

    def is_on(self, connection: "Connection") -> bool:
        """Whether it is about this connection."""
        return self.is_armed and self._on(connection)

    def happens_to(self, command: Command, connection: "Connection") -> bool:
        """Whether this command, or its reply if it has one, is the one that is meant. Counts."""
        if not self.is_on(connection) or not self._is_about(command):
            return False
        self.seen += 1
        if self._nth is not None and self.seen < self._nth:
            return False
        if self._nth is not None:
            self.disarm()  # it has had its turn
        return True

    def happened(self, command: Command | None = None) -> None:
        """It does, now."""
        if command is not None:
            self.caught.append(command)
        self.count += 1
        self.fired.set()

    def _is_about(self, command: Command) -> bool:
        if command.reply is not None:
            said = not command.reply.startswith(NOT_CARRIED_OUT) and self._answering in command.reply
        else:
            said = not self._answering
        wanted = self._matching
        return said and (wanted is None or (command.calls(wanted) if isinstance(wanted, str) else wanted(command)))
