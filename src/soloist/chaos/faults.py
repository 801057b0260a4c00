"""The faults that a connection can meet. What each does is written here; when it happens is a matter of rules.

Every fault can meet one command or reply (`FaultProxy.rule`), or strike a connection as a whole (`FaultProxy.strike`).
`of` says which direction it concerns: the command, which then has not been carried out, or the reply, when it has.
"""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from soloist.chaos.connection import Connection
    from soloist.chaos.rule import Rule

Side: TypeAlias = Literal["command", "reply"]
"""Commands go to the server, replies (and what it sends by itself) come from there."""

End: TypeAlias = Literal["server", "client"]


@dataclass(frozen=True)
class Pace:
    """How something is sent on.

    Attributes:
        size: so many bytes at a time, 0 for all at once.
        pause: seconds between them.
    """

    size: int = 0
    pause: float = 0.0


AT_ONCE = Pace()


@dataclass(frozen=True)
class Fault:
    """Base of all."""

    of: Side = field(default="reply", kw_only=True)

    async def meet(self, connection: "Connection", rule: "Rule") -> Pace | None:
        """What becomes of one command or reply: how it is sent on, None if it goes no further."""
        raise NotImplementedError

    def strike(self, connection: "Connection", rule: "Rule") -> None:
        """What becomes of a connection as a whole."""
        connection.endure(rule)


@dataclass(frozen=True)
class Drop(Fault):
    """It never arrives; the connection stays open. Of a command: nothing is carried out, so there is no reply either.

    Replies behind it do arrive. A client that went on with this connection would take the next one for this.
    """

    async def meet(self, connection: "Connection", rule: "Rule") -> None:  # noqa: ARG002 - it is simply gone
        return None


@dataclass(frozen=True)
class Delay(Fault):
    """It arrives late, and what is behind it on the same connection stays behind it.

    A command arrives even if its client has hung up meanwhile: a late copy, if the client has repeated it.

    Attributes:
        seconds: how late; None: when the rule is released.
    """

    seconds: float | None = None

    async def meet(self, connection: "Connection", rule: "Rule") -> Pace:  # noqa: ARG002 - others go on
        await rule.hold(self.seconds)
        return AT_ONCE


@dataclass(frozen=True)
class TooLate(Fault):
    """The reply arrives when the client has hung up: for certain too late, however long it has waited."""

    of: Literal["reply"] = field(default="reply", init=False)

    async def meet(self, connection: "Connection", rule: "Rule") -> Pace:
        either = [asyncio.ensure_future(wait) for wait in (connection.wait_until_hung_up(), rule.hold(None))]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in either:
                wait.cancel()
        return AT_ONCE


@dataclass(frozen=True)
class Trickle(Fault):
    """It arrives in small pieces.

    Attributes:
        size: bytes at a time.
        pause: seconds between them.
    """

    size: int = 1
    pause: float = 0.001

    async def meet(self, connection: "Connection", rule: "Rule") -> Pace:  # noqa: ARG002 - it does arrive
        return Pace(self.size, self.pause)


@dataclass(frozen=True)
class Stall(Fault):
    """Nothing moves on the connection any more, in neither direction, until the rule is released."""

    async def meet(self, connection: "Connection", rule: "Rule") -> Pace:
        connection.stall(rule)
        return AT_ONCE

    def strike(self, connection: "Connection", rule: "Rule") -> None:
        connection.stall(rule)


@dataclass(frozen=True)
class Cut(Fault):
    """The connection is closed: before the command is sent on, or before its reply is.

    Attributes:
        reset: both ends are told so with RST, not with FIN.
    """

    reset: bool = False

    async def meet(self, connection: "Connection", rule: "Rule") -> None:
        self.strike(connection, rule)

    def strike(self, connection: "Connection", rule: "Rule") -> None:  # noqa: ARG002 - there is nothing to release
        connection.cut(reset=self.reset)


@dataclass(frozen=True)
class HalfOpen(Fault):
    """One end is closed; the other is not told, and hears nothing any more, for ever. What it sends goes nowhere.

    Attributes:
        closed: `server`: it believes that the client is gone; the client goes on waiting. `client`: the opposite.
    """

    closed: End = "server"

    async def meet(self, connection: "Connection", rule: "Rule") -> None:
        self.strike(connection, rule)

    def strike(self, connection: "Connection", rule: "Rule") -> None:  # noqa: ARG002 - there is nothing to release
        connection.silence(self.closed)
