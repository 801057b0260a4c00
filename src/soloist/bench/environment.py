"""The exact environment of a measurement: a figure without it says nothing."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from soloist import __version__
from soloist.bench.arena import Arena


def environment(arena: Arena) -> dict[str, str]:
    """What the figures depend on, by its name for people."""
    about = arena.about
    return {
        "soloist": __version__,
        "server": arena.server_name,
        "persistence": arena.persistence,
        "allocator of the server": about.get("mem_allocator", "unknown"),
        "settings": arena.changed_settings or "defaults",
        "Python": platform.python_version(),
        "redis-py": version("redis"),
        "hiredis": version("hiredis"),
        "processor": f"{os.cpu_count()} × {_processor()}",
        "system": f"{platform.system()} {platform.release()}",
        "taken": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.machine()
