"""The floor: what a reliable list queue of plain commands costs on the same server, with the least that a client can do.

The same bytes by one connection, packed beforehand, RPUSH then LMOVE then LPOP in pipelines of 1,000, replies read by
hiredis. It keeps no ids, judges nothing, tells nobody; a reference, not an upper bound.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from uuid import uuid4

from soloist.store.link import Link, Words, pack
from soloist.store.raw import Raw
from soloist.store.server import Server

PIPELINE = 1000
TIMEOUT = 60.0


def floor_rate(server: Server, bodies: Sequence[bytes], messages: int, progress: Callable[[int], None]) -> float:
    """Messages a second: their number by the sum of the three times.

    Args:
        bodies: the messages; taken again from the first when they are all used.
    """
    prefix = f"soloist-bench-floor-{uuid4().hex[:12]}"
    queue, held = f"{prefix}:queue".encode(), f"{prefix}:held".encode()
    passes: tuple[Callable[[int], Words], ...] = (
        lambda at: (b"RPUSH", queue, bodies[at % len(bodies)]),
        lambda _: (b"LMOVE", queue, held, b"LEFT", b"RIGHT"),
        lambda _: (b"LPOP", held),
    )
    spent = 0.0
    with closing(Raw(server)) as raw, _removed(server, queue, held):
        for before, words in enumerate(passes):
            for first in range(0, messages, PIPELINE):
                commands = [words(at) for at in range(first, min(first + PIPELINE, messages))]
                packed = b"".join(map(pack, commands))
                begun = time.perf_counter()
                raw.exchange(packed, len(commands))
                spent += time.perf_counter() - begun
                progress((before * messages + first + len(commands)) // len(passes))
    return messages / spent


@contextmanager
def _removed(server: Server, *keys: bytes) -> Iterator[None]:
    """Whatever happens, these keys are gone afterwards; by another connection, since one that was interrupted is of no use."""
    try:
        yield
    finally:
        with closing(Link(server, TIMEOUT)) as link:
            link.command("UNLINK", *keys)
