"""What is done for each fault. A strike answers what was hit and how it is taken back; None if there was nothing to hit."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from soloist.chaos.plan import Step
from soloist.chaos.stage import Stage
from soloist.chaos.strikes.connections import CONNECTION_STRIKES
from soloist.chaos.strikes.instances import INSTANCE_STRIKES
from soloist.chaos.strikes.network import NETWORK_STRIKES
from soloist.chaos.strikes.server import SERVER_STRIKES
from soloist.chaos.struck import Struck

Strike: TypeAlias = Callable[[Stage, Step], Struck | None]

STRIKES: Mapping[str, Strike] = {**INSTANCE_STRIKES, **CONNECTION_STRIKES, **NETWORK_STRIKES, **SERVER_STRIKES}
"""By the name of the kind of fault."""
