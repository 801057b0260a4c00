"""What was asked for on the command line, and which of it can be had here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from soloist.chaos import clock, network
from soloist.chaos.catalogue import KINDS, Family
from soloist.chaos.plan import Plan, make_plan
from soloist.errors import UsageError
from soloist.lab.private_server import Persistence
from soloist.settings import Settings
from soloist.store.server import Server

SECONDS = 120.0
"""How long a plan lasts unless somebody says otherwise."""

PROXIED = "redis://"
"""Connections of this sort can be led through a fault proxy."""


@dataclass(frozen=True)
class Wish:
    """The options, and the server if one is named.

    Attributes:
        seconds: how long the plan lasts, if it has as many faults as there is time for.
        wanted: how many faults of each kind; None: as many as there is time for,
        only: of these kinds; None: of all that are possible.
        target: MODULE:APP of the user's own App; empty: the one that chaos has.
        no_bounds: takeovers may take as long as they like.
    """

    messages: int
    instances: int
    seed: int
    seconds: float
    wanted: Mapping[str, int] | None
    only: frozenset[str] | None
    target: str
    settings: Settings
    persistence: Persistence
    server: Server | None
    no_bounds: bool = False

    def impossible(self) -> dict[str, str]:
        """The kinds of faults that cannot be here, and why."""
        why = dict.fromkeys((Family.CONNECTION, Family.NETWORK, Family.SERVER), "")
        if self.server is not None:
            why[Family.SERVER] = why[Family.NETWORK] = "the server is not one that chaos has started itself"
            if not self.server.url.startswith(PROXIED):
                why[Family.CONNECTION] = f"only connections by {PROXIED} can be led through a fault proxy"
        elif self._needs("unplug"):
            why[Family.NETWORK] = network.why_not()
        reasons = {name: why.get(kind.family, "") for name, kind in KINDS.items()}
        if not reasons["clock"]:
            reasons["clock"] = clock.why_not()
        return {name: reason for name, reason in reasons.items() if reason}

    def plan(self, impossible: Mapping[str, str]) -> Plan:
        """Made from the seed.

        Raises:
            UsageError: a fault is wanted that cannot be here.
        """
        for name in (*(self.wanted or ()), *(self.only or ())):
            if name in impossible:
                raise UsageError(f"--faults: {name!r} cannot be here: {impossible[name]}.")
        unasked = {name for name, kind in KINDS.items() if kind.only_asked}
        possible = self.only if self.only is not None else KINDS.keys() - impossible.keys() - unasked
        return make_plan(self.seed, self.settings, possible, seconds=self.seconds, wanted=self.wanted)

    def _needs(self, name: str) -> bool:
        named = self.wanted if self.wanted is not None else self.only
        return named is None or name in named


def wish_for(*, seconds: float | None, faults: Mapping[str, int | None] | None, **others: Any) -> Wish:
    """What the options mean.

    Args:
        seconds: how long, if somebody says so.
        faults: how many of which kinds, or only which (None of each).

    Raises:
        UsageError: both say how long it takes.
    """
    counted = {name: many for name, many in (faults or {}).items() if many is not None}
    if counted and seconds is not None:
        raise UsageError(
            "--seconds: so many faults take as long as they take; leave it out, or the numbers of --faults."
        )
    return Wish(
        seconds=seconds or SECONDS,
        wanted=counted or None,
        only=frozenset(faults) if faults and not counted else None,
        **others,
    )
