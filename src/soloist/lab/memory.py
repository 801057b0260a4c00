"""Memory, of processes and of a server, in bytes."""

from collections.abc import Iterable
from pathlib import Path

from soloist.store.fitness import info
from soloist.store.link import Link


def of_processes(pids: Iterable[int]) -> int:
    """The largest resident memory among them; one that has ended has none."""
    return max(map(_of_process, pids), default=0)


def _of_process(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def of_server(link: Link) -> int:
    """What the server's data takes, by its own word."""
    return int(info(link)["used_memory"])
