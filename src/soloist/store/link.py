"""A link: one connection of one actor, used by one thread at a time, that never repeats a call by itself.

A reply has three outcomes: yes, no, unknown. `Unavailable` is the third; whoever sent the call decides whether to
repeat it, unchanged. (The client library's own retries made two entries of one during a stall of 0.9 s.)
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import SHUT_RDWR
from typing import Any, TypeAlias

import hiredis
from redis import exceptions
from redis.connection import Connection
from redis.exceptions import NoScriptError, RedisError

from soloist.errors import EmbeddedServerError, Unavailable
from soloist.store.forks import gate
from soloist.store.server import Server

FORKED = 70
"""Exit code of a forked child that went on with our work."""

CHUNK = 2**18
"""Bytes that are sent at a time: the time limit of a call is for each chunk, so a large message may take longer."""

Words: TypeAlias = tuple[str | bytes | int | float, ...]
pack: Callable[[Words], bytes] = hiredis.pack_command  # type: ignore[assignment]  # typed as if it took one word
"""Not by way of the client library, which looks at every word once more first: a tenth of the time of a large page."""

HANG_UP = 0.02
"""Seconds between attempts to end a wait."""


class Link:
    """One connection, made when it is first needed and again after every failure."""

    def __init__(self, server: Server, timeout: float) -> None:
        self._server = server
        self._timeout = timeout
        self._connection = server.connection(timeout)
        self._open = False
        self._in_child = False
        self._was_interrupted = False
        gate.links.add(self)

    def command(self, *words: str | bytes | float) -> Any:
        """Send one command and read its answer.

        Raises:
            Unavailable: whether it was carried out is not known.
        """
        try:
            return self._exchange(words)
        except (RedisError, OSError) as error:
            raise self._failed(error) from error

    def begin_script(
        self, sha: str, text: str, keys: Sequence[str], args: Sequence[str | bytes | int]
    ) -> Callable[[], list[Any]]:
        """Send a call of a script by its digest; what is answered waits for its answer.

        By its text where the server does not know the digest (restart, SCRIPT FLUSH). Nothing else may be sent meanwhile.
        """
        words = (len(keys), *keys, *args)

        def answer() -> list[Any]:
            try:
                try:
                    result: list[Any] = self._receive()
                except NoScriptError:
                    result = self._exchange(("EVAL", text, *words))
            except (RedisError, OSError) as error:
                raise self._failed(error) from error
            return result

        try:
            self._send(("EVALSHA", sha, *words))
        except (RedisError, OSError) as error:
            raise self._failed(error) from error
        return answer

    def readable(self, timeout: float) -> bool:
        """Wait until something arrives or the connection breaks; True if either happened."""
        try:
            return bool(self._connection.can_read(timeout))
        except (RedisError, OSError) as error:
            raise self._failed(error) from error

    def read(self) -> Any:
        """Read what the server sends by itself (a subscription)."""
        try:
            return self._connection.read_response()
        except (RedisError, OSError) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Drop the connection; the next call makes a new one."""
        self._open = False
        self._connection.disconnect()

    def interrupt(self) -> None:
        """End, from another thread, a call that waits: its connection may have died in silence. The next makes a new one."""
        self._was_interrupted = True
        shut(self._connection)

    def take_interruption(self) -> bool:
        """Whether it was interrupted since the last time this was asked: a failure then says nothing of the server."""
        was, self._was_interrupted = self._was_interrupted, False
        return was

    def hang_up(self, user: threading.Thread, until: float) -> None:
        """End the wait of the thread that uses it, which is about to end, and wait until it has closed it and is gone.

        Again and again: a connection in the making is not there yet, and it may still wait on it then.

        Args:
            until: when to give up (monotonic).
        """
        while user.is_alive() and user is not threading.current_thread() and time.monotonic() < until:
            self.interrupt()
            user.join(HANG_UP)

    def abandon(self) -> None:
        """Close it for good: we are a forked child, and the link is our parent's.

        Only the socket itself: the client library's way to close takes locks, and whoever held one when the process was
        forked does not exist in the child.
        """
        self._in_child = True
        socket = getattr(self._connection, "_sock", None)
        if socket is not None:
            socket.close()

    def _failed(self, error: Exception) -> Exception:
        """Start afresh: the other end may be a demoted server, or may still send the late answer to an old call."""
        connecting = not self._open
        self.close()
        meaning = self._server.meaning(error, connecting=connecting)
        if isinstance(meaning, Unavailable):
            meaning.sent = not connecting
        return meaning

    def _exchange(self, words: Sequence[str | bytes | int | float]) -> Any:
        self._send(words)
        return self._receive()

    def _send(self, words: Sequence[str | bytes | int | float]) -> None:
        if self._in_child:
            os._exit(FORKED)
        if not self._open:
            self._connect()
        packed = pack(tuple(words))
        self._connection.send_packed_command([packed[at : at + CHUNK] for at in range(0, len(packed), CHUNK)])

    def _receive(self) -> Any:
        if self._in_child:
            os._exit(FORKED)
        return self._connection.read_response()

    def _connect(self) -> None:
        try:
            with gate.connecting():
                self._server.connect(self._connection)
        except exceptions.ConnectionError as error:
            # Refused, or a password that is not its any more: the embedded server was started anew, or is gone.
            if isinstance(error, exceptions.BusyLoadingError) or not self._recovered():
                raise
            self._connection = self._server.connection(self._timeout)
            with gate.connecting():
                self._server.connect(self._connection)
        self._open = True

    def _recovered(self) -> bool:
        try:
            return self._server.recover()
        except EmbeddedServerError as error:
            raise Unavailable(str(error)) from error


def shut(connection: Connection) -> None:
    """End a connection from another thread: whoever waits for something on it is told that it broke."""
    socket = getattr(connection, "_sock", None)
    if socket is not None:
        with suppress(OSError):
            socket.shutdown(SHUT_RDWR)
