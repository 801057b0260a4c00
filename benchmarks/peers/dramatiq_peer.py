"""Dramatiq: a list and a hash, scripts that fetch several messages and acknowledge one. See protocol.py."""

from collections.abc import Callable

import dramatiq
import protocol
from dramatiq.brokers.redis import RedisBroker

# The best of 1 to 16 threads, and of prefetching twice as many as threads (the default), 100, 200 and 1000: whoever has
# as many as that in hand waits before it looks for more.
THREADS = 8
PREFETCH = 1000


def build(url: str, judge: Callable[[], None]) -> tuple[RedisBroker, dramatiq.Actor[[str], None]]:
    """The same application for both roles. Without middleware: no time limits, retries or callbacks to pay for."""
    broker = RedisBroker(url=url, middleware=[])

    @dramatiq.actor(broker=broker)
    def handle(_text: str) -> None:
        judge()

    return broker, handle


def produce(url: str) -> Callable[[str], object]:
    return build(url, lambda: None)[1].send


def work(url: str, progress: protocol.Progress) -> None:
    broker, _ = build(url, progress.judge)
    worker = dramatiq.Worker(broker, worker_threads=THREADS)
    worker.queue_prefetch = PREFETCH
    worker.start()


if __name__ == "__main__":
    protocol.run(produce, work)
