"""One executed call, as the model sees it; and what several scripts have in common."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from soloist.settings import Settings
from tests.model.calls import Call, Reply
from tests.model.state import State


@dataclass(frozen=True)
class Step:
    """One executed call.

    Attributes:
        before: what was stored; after: what is stored now.
        there: the ids whose channel counts.
        kinds: message id to kind, of all that were ever published.
    """

    settings: Settings
    before: State
    call: Call
    reply: Reply
    after: State
    there: AbstractSet[str]
    kinds: dict[str, str]

    @property
    def moments(self) -> tuple[int, int]:
        """The script ran between these two, server ms."""
        return self.before.now_ms, self.after.now_ms


def count(state: State, name: str, many: int, kind: str = "") -> None:
    for each in (name, f"{name}:{kind}") if kind else (name,):
        state.totals[each] = state.totals.get(each, 0) + many
        if state.totals[each] == 0:
            del state.totals[each]


def note(state: State, event: str) -> None:
    """One entry in the common log."""
    state.log = (state.log[0] + 1, event)


def refuse(state: State, what: str) -> set[str]:
    """What is superseded is counted and noted, and changes nothing."""
    count(state, f"superseded:{what}", 1)
    note(state, "superseded")
    return {"SUPERSEDED"}


def ring(state: State, kinds: Iterable[str], *, paused_too: bool = False, suspects_too: bool = True) -> None:
    """At most one token, where work waits."""
    lists = ("pending", "again", "suspect") if suspects_too else ("pending", "again")
    there = {kind for kind in kinds if any(state.lists.get(f"{name}:{kind}") for name in lists)}
    state.bells |= {kind for kind in there if paused_too or kind not in state.paused}


def hear(state: State, ident: str) -> None:
    """Any call of one that is present clears its mark."""
    state.lives[ident] = state.lives[ident]._replace(zero=0)


def moment_us(step: Step, claimed: int, later: int) -> int:
    """A moment that the script has chosen, if it can be so; else 0."""
    return claimed if step.before.now_us // 1000 * 1000 <= claimed <= step.after.now_us + later else 0
