"""Huey: a list, one blocking pop a message, no acknowledgement. See protocol.py."""

import os
from collections.abc import Callable

import protocol
from huey import RedisHuey
from huey.api import TaskWrapper

# The best of 1 to 16: a process alone loses with 8 what its threads take from each other, two of them gain by it. Up to
# 100 greenlets were tried too: within a tenth of this for one process, a quarter slower for two.
THREADS = 2 if os.environ["WORKERS"] == "1" else 8


def build(url: str, judge: Callable[[], None]) -> tuple[RedisHuey, TaskWrapper]:
    """The same application for both roles. Without results: nobody would read them."""
    huey = RedisHuey("peer", url=url, results=False)

    @huey.task()
    def handle(_text: str) -> None:
        judge()

    return huey, handle


def produce(url: str) -> Callable[[str], object]:
    return build(url, lambda: None)[1]


def work(url: str, progress: protocol.Progress) -> None:
    huey, _ = build(url, progress.judge)
    huey.create_consumer(workers=THREADS, worker_type="thread", periodic=False).start()


if __name__ == "__main__":
    protocol.run(produce, work)
