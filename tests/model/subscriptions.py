"""The last wills of all clients: real subscriptions, which begin and end at once, so that a history is repeatable.

One connection carries them all. To the server a channel counts the same whether its listener has a connection of its
own or not, and a connection that is closed is noticed only after a while.
"""

from soloist.store.link import Link
from tests.servers import Store


class Subscriptions:
    """Attributes: there, the ids whose channel counts."""

    def __init__(self, store: Store) -> None:
        self._link = Link(store.server, timeout=5)
        self._channel = store.keys.alive
        self.there: set[str] = set()

    def begin(self, ident: str) -> None:
        self._link.command("SSUBSCRIBE", self._channel + ident)
        self.there.add(ident)

    def end(self, ident: str) -> None:
        """Its connection is gone, for whatever reason."""
        if ident in self.there:
            self._link.command("SUNSUBSCRIBE", self._channel + ident)
            self.there.remove(ident)

    def close(self) -> None:
        for ident in sorted(self.there):
            self.end(ident)
        self._link.close()
