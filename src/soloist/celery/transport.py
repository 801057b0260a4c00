"""What Celery would write to its broker, caught on its way: kombu decides which queues, which keys and which bytes, and
writes them on paper.

Only the scheduler's own connection is of this transport; whatever else a process publishes goes its usual way.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from kombu.transport import redis

from soloist.store.sending import Post


class Outbox:
    """What was caught and not yet taken.

    Attributes:
        pushes: key of the queue and message.
        broadcasts: channel and message.
    """

    def __init__(self) -> None:
        self.pushes: list[tuple[str, str]] = []
        self.broadcasts: list[tuple[str, str]] = []
        self._afterwards: list[Callable[[], object]] = []

    def take(self) -> tuple[Post, Callable[[], None]]:
        """All of it; and what is to be called once it was sent."""
        post, afterwards = Post(tuple(self.pushes), tuple(self.broadcasts)), tuple(self._afterwards)
        self.clear()

        def settle() -> None:
            for each in afterwards:
                each()

        return post, settle

    def clear(self) -> None:
        self.pushes.clear()
        self.broadcasts.clear()
        self._afterwards.clear()

    def add(self, paper: "Paper") -> None:
        self.pushes += paper.pushes
        self.broadcasts += paper.broadcasts
        self._afterwards += paper.afterwards


class Paper:
    """Stands in for the client while one message is published: it can do what a publication needs, and nothing else.

    Args:
        prefix: kombu's global_keyprefix, which its own client puts in front of each key.
        read: the client, for what is only read.
    """

    def __init__(self, prefix: str, read: Any) -> None:
        self.pushes: list[tuple[str, str]] = []
        self.broadcasts: list[tuple[str, str]] = []
        self.afterwards: list[Callable[[], object]] = []
        self._prefix = prefix
        self._client = read

    def lpush(self, queue: str, message: str) -> None:
        self.pushes.append((self._prefix + queue, message))

    def publish(self, channel: str, message: str) -> None:
        self.broadcasts.append((self._prefix + channel, message))

    def pexpire(self, queue: str, expires_ms: int) -> None:
        """Of a queue that its owner lets expire (x-expires). There may be none yet: afterwards, and it costs nothing."""
        self.afterwards.append(lambda: self._client.pexpire(queue, expires_ms))

    def smembers(self, bindings: str) -> Any:
        return self._client.smembers(bindings)

    def pipeline(self) -> Self:
        return self

    def execute(self) -> None:
        """All is on the paper."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing was opened."""


def catching(outbox: Outbox, exchanges: Mapping[str, str]) -> type:
    """A transport that writes what it publishes into this outbox.

    Args:
        exchanges: name to type of those that the app's queues have. kombu knows only those that were declared over the same
            connection, takes any other for a direct one, and the message for one that nobody wants.
    """

    class Channel(redis.Channel):
        paper: Paper | None = None

        def basic_publish(self, *args: Any, **kwargs: Any) -> Any:
            with super().conn_or_acquire() as client:
                paper = self.paper = Paper(self.global_keyprefix, client)
            try:
                done = super().basic_publish(*args, **kwargs)  # type: ignore[no-untyped-call]  # kombu's
            finally:
                self.paper = None
            outbox.add(paper)  # whole: kombu repeats a publication that fails half-way
            return done

        def typeof(self, exchange: str, default: str = "direct") -> Any:
            return super().typeof(exchange, exchanges.get(exchange, default))  # type: ignore[no-untyped-call]  # kombu's

        @contextmanager
        def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
            if client is None and self.paper is not None:
                yield self.paper
            else:
                with super().conn_or_acquire(client) as real:
                    yield real

    class Transport(redis.Transport):
        pass

    Transport.Channel = Channel
    return Transport
