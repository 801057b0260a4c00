"""A link: one connection of one actor, used by one thread at a time, that never repeats a call by itself.

A reply has three outcomes: yes, no, unknown. `Unavailable` is the third; whoever sent the call decides whether to
repeat it, unchanged. (The client library's own retries made two entries of one during a stall of 0.9 s.)
"""

import os
import weakref
from collections.abc import Sequence
from typing import Any

from redis.exceptions import NoScriptError, RedisError

from soloist.store.server import Server

FORKED = 70
"""Exit code of a forked child that went on with our work."""

_links: weakref.WeakSet["Link"] = weakref.WeakSet()


class Link:
    """One connection, made when it is first needed and again after every failure."""

    def __init__(self, server: Server, timeout: float) -> None:
        self._server = server
        self._timeout = timeout
        self._connection = server.connection(timeout)
        self._open = False
        self._in_child = False
        _links.add(self)

    def command(self, *words: str | bytes | float) -> Any:
        """Send one command and read its answer.

        Raises:
            Unavailable: whether it was carried out is not known.
        """
        try:
            return self._exchange(words)
        except (RedisError, OSError) as error:
            raise self._failed(error) from error

    def script(self, sha: str, text: str, keys: Sequence[str], args: Sequence[str | bytes | int]) -> list[Any]:
        """Run a script by its digest; by its text where the server does not know it (restart, SCRIPT FLUSH)."""
        try:
            try:
                answer = self._exchange(("EVALSHA", sha, len(keys), *keys, *args))
            except NoScriptError:
                answer = self._exchange(("EVAL", text, len(keys), *keys, *args))
        except (RedisError, OSError) as error:
            raise self._failed(error) from error
        result: list[Any] = answer
        return result

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

    def abandon(self) -> None:
        """Close it for good: we are a forked child, and the link is our parent's."""
        self._in_child = True
        self.close()

    def _failed(self, error: Exception) -> Exception:
        """Start afresh: the other end may be a demoted server, or may still send the late answer to an old call."""
        connecting = not self._open
        self.close()
        return self._server.meaning(error, connecting=connecting)

    def _exchange(self, words: Sequence[str | bytes | int | float]) -> Any:
        if self._in_child:
            os._exit(FORKED)
        if not self._open:
            self._connect()
        self._connection.send_command(*words)
        return self._connection.read_response()

    def _connect(self) -> None:
        try:
            self._connection.connect()
        except (RedisError, OSError):
            if not self._server.recover():
                raise
            self._connection = self._server.connection(self._timeout)
            self._connection.connect()
        self._open = True


def _close_in_child() -> None:
    """A forked child must not keep our sockets open: the last will would never be executed.

    Nor may it speak in its parent's name: one that returns from the user's code into ours ends there.
    """
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_close_in_child)
