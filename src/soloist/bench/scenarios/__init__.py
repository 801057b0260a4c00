"""The scenarios by name. Each takes a session and answers a result."""

from collections.abc import Callable, Mapping

from soloist.bench.result import Result
from soloist.bench.scenarios.idle import idle
from soloist.bench.scenarios.latency import latency
from soloist.bench.scenarios.million import million
from soloist.bench.scenarios.sweeps import backlog, durability, instances, size
from soloist.bench.scenarios.takeover import takeover
from soloist.bench.scenarios.window import window
from soloist.bench.session import Session

SCENARIOS: Mapping[str, Callable[[Session], Result]] = {
    each.__name__: each for each in (million, latency, idle, takeover, backlog, instances, size, durability, window)
}
