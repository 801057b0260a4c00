"""The figures of a load: as rows tell them, and as they are called."""

from typing import Any

from soloist.bench.load import Measured
from soloist.bench.result import Column

RATE = Column("rate", "messages a second")
FLOOR = Column("floor_rate", "floor, messages a second")
RATIO = Column("ratio_to_floor", "ratio to the floor", ".2f")
SERVER = Column("server_cpu_us_per_message", "server, µs a message", ".2f")
INSTANCES = Column("client_cpu_us_per_message", "instances, µs a message", ".2f")


def told(seen: Measured) -> dict[str, Any]:
    """The figures of a load as JSON tells them."""
    return {
        "messages": seen.messages,
        "handlers": seen.handlers,
        "seconds": round(seen.seconds, 3),
        "rate": round(seen.rate),
        "lost": seen.lost,
        "duplicated": seen.duplicated,
        "failed": seen.failed,
        "failed_percent": round(100 * seen.failed / seen.messages, 3),
        "server_cpu_us_per_message": round(seen.server_us, 3),
        "client_cpu_us_per_message": round(seen.client_us, 3),
        "handler_mb_at_a_tenth": round(seen.early_memory / 1e6, 1),
        "handler_mb": round(seen.late_memory / 1e6, 1),
    }


def beside_floor(seen: Measured, floor: float | None) -> dict[str, Any]:
    if floor is None:
        return {"floor_rate": None, "ratio_to_floor": None}
    return {"floor_rate": round(floor), "ratio_to_floor": round(seen.rate / floor, 3)}
