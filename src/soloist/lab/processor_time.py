"""Seconds of processor time, of processes and of a server."""

import os
from collections.abc import Iterable
from pathlib import Path

from soloist.store.link import Link
from soloist.store.replies import text

TICKS = os.sysconf("SC_CLK_TCK")
"""What the kernel counts in, a second."""


def of_processes(pids: Iterable[int]) -> float:
    """User and system time of them together, all threads; one that has ended counts nothing."""
    return sum(map(_of_process, pids))


def _of_process(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def of_server(link: Link) -> float:
    """User and system time of the server, all threads, by its own word."""
    about = dict(line.split(":", 1) for line in text(link.command("INFO", "cpu")).splitlines() if ":" in line)
    return float(about["used_cpu_sys"]) + float(about["used_cpu_user"])
