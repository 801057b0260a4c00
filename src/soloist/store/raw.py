"""A connection with nothing between it and the parser, for measurements: what the server itself can do."""

from typing import Any

import hiredis

from soloist.errors import Unavailable
from soloist.store.server import Server

READ = 2**18


class Raw:
    """Only the client library's way to make a connection is used."""

    def __init__(self, server: Server) -> None:
        self._connection = server.connection(60.0)
        self._connection.connect()
        self._socket: Any = self._connection._sock  # noqa: SLF001 - there is no other way to it
        self._replies = hiredis.Reader()

    def exchange(self, packed: bytes, expected: int) -> None:
        """Send, and read so many replies."""
        self._socket.sendall(packed)
        while expected:
            reply = self._replies.gets()
            if reply is False:
                data = self._socket.recv(READ)
                if not data:
                    raise Unavailable("the server closed the connection")
                self._replies.feed(data)
                continue
            if isinstance(reply, hiredis.ReplyError):
                raise Unavailable(f"the server refuses: {reply}")
            expected -= 1

    def close(self) -> None:
        self._connection.disconnect()
