"""What measure.py and the program of a Python peer say to each other. Runs in the peers' environment: no soloist here.

    PROGRAM work URL PROGRESS     says `ready`, then handles messages and counts them in the file PROGRESS
    PROGRAM produce URL TEXTS     says `ready`, waits for a line, then publishes each line of the file TEXTS

Both live until their standard input ends: so their processor time can still be read when the work is done, and none of
them outlives compare.py. The variable WORKERS tells them how many processes work.
"""

import logging
import mmap
import os
import random
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

ERROR_RATE = 0.05

# When the last one was handled (monotonic, ns), how many were found erroneous, how many were handled at all.
PROGRESS = struct.Struct("<3q")


class Progress:
    """How far one worker is, in a file that measure.py looks at.

    Memory shared with a file, because it must cost the peer next to nothing: 0.6 µs a message, no command to the server.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), PROGRESS.size)
        self._lock = threading.Lock()
        self._handled = self._failed = 0

    def judge(self) -> None:
        """The whole work on a message. An erroneous one is only counted: an exception would start retries and logs."""
        failed = random.random() < ERROR_RATE
        with self._lock:
            self._handled += 1
            self._failed += failed
            PROGRESS.pack_into(self._memory, 0, time.monotonic_ns(), self._failed, self._handled)


class Produce(Protocol):
    """Prepare all that needs no message, and give back how one is published."""

    def __call__(self, url: str) -> Callable[[str], object]: ...


class Work(Protocol):
    """Start to handle messages in the background."""

    def __call__(self, url: str, progress: Progress) -> None: ...


def run(produce: Produce, work: Work) -> None:
    """Be the program of a peer."""
    logging.basicConfig(level=logging.WARNING)
    role, url, file = sys.argv[1:]
    if role == "work":
        work(url, Progress(Path(file)))
        _say("ready")
    else:
        publish, texts = produce(url), Path(file).read_text().splitlines()
        _say("ready")
        sys.stdin.readline()
        for text in texts:
            publish(text)
    sys.stdin.read()
    os._exit(0)  # at once, whatever the threads of the peer are waiting for


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
