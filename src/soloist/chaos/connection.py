"""One connection through the proxy: two directions, each of which carries frames, and the faults that it meets."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress

from soloist.chaos.faults import AT_ONCE, End, Pace, Side
from soloist.chaos.resp import Command, Frames, Pairing
from soloist.chaos.rule import Rule

CHUNK = 2**18
"""Bytes that are read at a time."""

RESET_WHEN_CLOSED = struct.pack("ii", 1, 0)
"""SO_LINGER with no time to linger."""


class Lane:
    """One direction: where it comes from, where it goes."""

    def __init__(self, side: Side, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.side = side
        self.reader = reader
        self.writer = writer
        self.frames = Frames()


class Connection:
    """A client's connection and the one to the server that was made for it.

    Attributes:
        last: the last command that the client sent.
    """

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        rules: Callable[[], Iterable[Rule]],
    ) -> None:
        self.last: Command | None = None
        self._commands = Lane("command", client[0], server[1])
        self._replies = Lane("reply", server[0], client[1])
        self._rules = rules
        self._pairing = Pairing()
        self._said: set[str] = set()
        self._enduring: list[Rule] = []
        self._stalls: list[Rule] = []
        self._is_silent = False
        self._hung_up = asyncio.Event()

    def has_sent(self, what: str) -> bool:
        """Whether the client ever sent a command of this name, or one that calls the script of this digest."""
        return what.upper() in self._said or what.lower() in self._said

    async def carry(self) -> None:
        """Carry commands and replies until both ends are closed."""
        try:
            async with asyncio.TaskGroup() as lanes:
                lanes.create_task(self._carry(self._commands))
                lanes.create_task(self._carry(self._replies))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            for lane in (self._commands, self._replies):
                lane.writer.transport.abort()

    async def wait_until_hung_up(self) -> None:
        """Wait until the client has closed its end; that is not seen while one of its commands is held back."""
        await self._hung_up.wait()

    # what faults do

    def endure(self, rule: Rule) -> None:
        """Everything of its side meets the fault from now on."""
        self._enduring.append(rule)

    def stall(self, rule: Rule) -> None:
        """Send nothing more until it is released."""
        self._stalls.append(rule)

    def silence(self, closed: End) -> None:
        """Send nothing more, ever, and close one end."""
        self._is_silent = True
        (self._commands if closed == "server" else self._replies).writer.close()

    def cut(self, *, reset: bool) -> None:
        """Close both ends."""
        for lane in (self._commands, self._replies):
            if reset:
                with suppress(OSError):
                    lane.writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, RESET_WHEN_CLOSED
                    )
                lane.writer.transport.abort()
            lane.writer.close()

    # carrying

    async def _carry(self, lane: Lane) -> None:
        with suppress(OSError):  # reset: the same end as any other
            while data := await lane.reader.read(CHUNK):
                for frame in lane.frames.feed(data):
                    await self._pass_on(lane, frame)
        if lane is self._commands:
            self._hung_up.set()
        await self._flowing()
        if self._is_silent:
            return
        if lane is self._replies:
            lane.writer.close()
        elif not lane.writer.is_closing():
            with suppress(OSError):
                lane.writer.write_eof()  # the server still answers what it was sent

    async def _pass_on(self, lane: Lane, frame: bytes) -> None:
        command = self._sent(frame) if lane is self._commands else self._pairing.answered(frame)
        pace = AT_ONCE
        for rule in self._harm(lane.side, command):
            rule.happened(command)
            its_pace = await rule.fault.meet(self, rule)
            if its_pace is None:
                return
            pace = its_pace if its_pace.size else pace
        if lane is self._commands and command is not None:
            self._pairing.sent(command)
        await self._send(lane, frame, pace)

    def _sent(self, frame: bytes) -> Command:
        command = self.last = Command(frame)
        self._said.update(filter(None, (command.name, command.script)))
        return command

    def _harm(self, side: Side, command: Command | None) -> list[Rule]:
        """The rules whose faults this meets. All are asked, since all count."""
        self._enduring = [rule for rule in self._enduring if rule.is_armed]
        enduring = [rule for rule in self._enduring if rule.fault.of == side]
        if command is None:  # the server said it by itself
            return enduring
        return enduring + [rule for rule in self._rules() if rule.fault.of == side and rule.happens_to(command, self)]

    async def _send(self, lane: Lane, frame: bytes, pace: Pace) -> None:
        size = pace.size or len(frame)
        for at in range(0, len(frame), size):
            if at:
                await asyncio.sleep(pace.pause)
            await self._flowing()
            if self._is_silent or lane.writer.is_closing():
                return
            with suppress(OSError):  # the other end is gone: what comes behind goes nowhere, too
                lane.writer.write(frame[at : at + size])
                await lane.writer.drain()

    async def _flowing(self) -> None:
        while self._stalls:
            await self._stalls[0].hold(None)
            self._stalls = [rule for rule in self._stalls if not rule.is_released]
