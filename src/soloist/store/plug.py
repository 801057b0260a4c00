"""A server as one instance alone sees it, whose plug can be pulled: a kill without the end of a process, for tests.

What the others see is what they see of a process that was killed: its connections end, and it never says another word.
"""

import threading
import weakref

from redis.connection import Connection

from soloist.store.link import shut
from soloist.store.server import Server


class Unplugged(BaseException):
    """The plug was pulled: whoever had something to say to the server ends. No `Exception`: nothing may go on after it."""


class Plug(Server):
    """Every connection of one instance is made here."""

    def __init__(self, url: str) -> None:
        self._made: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._making = threading.Lock()
        self.is_pulled = False
        super().__init__(url)

    def connection(self, timeout: float) -> Connection:
        made = super().connection(timeout)
        with self._making:
            self._made.add(made)
        return made

    def connect(self, connection: Connection) -> None:
        """Make it; but not any more, or drop it at once, if the plug was pulled."""
        self._refuse()
        super().connect(connection)
        if self.is_pulled:
            connection.disconnect()
        self._refuse()

    def pull(self) -> None:
        """End all connections, for good."""
        self.is_pulled = True
        with self._making:
            for connection in list(self._made):
                shut(connection)

    def _refuse(self) -> None:
        if self.is_pulled:
            raise Unplugged("the plug of this instance was pulled")
