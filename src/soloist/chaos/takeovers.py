"""How long the part of the generator was vacant after a fault. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import quantiles

from soloist.chaos.catalogue import Family
from soloist.chaos.ledger import Publication
from soloist.chaos.stage import Hit
from soloist.settings import Settings

MARGIN_MS = 100
"""What the 99th percentile may be above the lease and a heartbeat: the publication itself, and its tick."""

BY_WILL = frozenset({"kill", "die"})
"""Faults that end a process, so that its last will tells of it."""

BY_LEASE = frozenset({"freeze", "unplug"})
"""Faults after which only the lease tells."""


@dataclass(frozen=True)
class Takeover:
    """From a fault that hit the generator to the first publication of a later term.

    Attributes:
        is_alone: no other fault was near.
        is_calm: the machine was not too busy for a figure.
    """

    kind: str
    ms: int
    is_alone: bool
    is_calm: bool


@dataclass(frozen=True)
class Figures:
    """Of the takeovers after one kind of fault: those that count."""

    p50: int
    p99: int
    max: int
    samples: int
    left_out: int


def takeovers(
    hits: Sequence[Hit], publications: Sequence[Publication], settings: Settings, was_calm: Callable[[int, int], bool]
) -> list[Takeover]:
    """All that can be told apart.

    Args:
        was_calm: whether the machine was, between two moments (wall clock, ms).
    """
    found = []
    for hit in hits:
        if not hit.was_generator or hit.kind not in BY_WILL | BY_LEASE:
            continue
        later = [page.at_ms for page in publications if page.term > hit.term]
        if not later or min(later) < hit.at_ms:
            continue  # nobody needed to, or somebody else had already taken over
        taken = min(later)
        if hit.kind in BY_LEASE and taken > hit.ended_ms + settings.lease_ms:
            continue  # it was over before its lease was: this takeover had another reason
        others = [other for other in hits if other is not hit]
        alone = not any(_is_near(other, hit.at_ms, taken, settings) for other in others)
        found.append(Takeover(hit.kind, taken - hit.at_ms, alone, was_calm(hit.at_ms, taken)))
    return found


def _is_near(other: Hit, begun_ms: int, ended_ms: int, settings: Settings) -> bool:
    """A fault of the server reaches until two leases after its end, any other until two heartbeats after."""
    reach = 2 * settings.lease_ms if other.family is Family.SERVER else 2 * settings.heartbeat_ms
    return other.at_ms <= ended_ms and other.ended_ms + reach >= begun_ms


def figures(found: Iterable[Takeover]) -> dict[str, Figures]:
    """By kind of fault; only of those that were alone, on a calm machine."""
    kinds: dict[str, list[Takeover]] = {}
    for each in found:
        kinds.setdefault(each.kind, []).append(each)
    told = {}
    for kind, of_kind in sorted(kinds.items()):
        counted = sorted(each.ms for each in of_kind if each.is_alone and each.is_calm)
        if counted:
            cuts = quantiles(counted, n=100, method="inclusive") if len(counted) > 1 else [counted[0]] * 99
            told[kind] = Figures(
                round(cuts[49]), round(cuts[98]), counted[-1], len(counted), len(of_kind) - len(counted)
            )
    return told


def bound_ms(kind: str, settings: Settings) -> int:
    """What is promised of the 99th percentile (G5)."""
    if kind in BY_WILL:
        return 500
    return settings.lease_ms + settings.heartbeat_ms + MARGIN_MS
