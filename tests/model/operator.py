"""A person at the command line: pauses, resumes, asks for a handover, puts error records back or deletes them.

What it asks is made of what it saw, and may arrive much later, twice, or after something newer.
"""

import random

from soloist.store.presence import Who
from soloist.store.records import Failure
from tests.model.calls import KINDS, OPERATOR, Call, Reply
from tests.model.state import State

PERSON = Who(OPERATOR, 0, "", "host", 17)


class Operator:
    """Attributes: unknown, the call whose outcome is not known; it is made again, or forgotten. chance, as a client's."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.unknown: Call | None = None

    def next_call(self, state: State) -> Call:
        """What the person asks for next, given what is shown."""
        chance = self.chance
        if self.unknown is not None and chance.random() < 0.6:
            return self.unknown
        self.unknown = None
        what = chance.choices(("requeue", "pause", "handover", "discard"), (6, 4, 3, 2))[0]
        if what in {"requeue", "discard"}:
            shown: list[Failure] = sorted(state.errors.items())
            meant = chance.sample(shown, min(len(shown), chance.choice((1, 2, 9))))
            return Call(what, PERSON, PERSON.id, failures=tuple(meant))
        if what == "handover":
            on = state.number("term")
            return Call(what, PERSON, PERSON.id, term=chance.choice((0, on, on, max(0, on - 1))))
        kinds = chance.choice((KINDS[:1], KINDS[1:], KINDS))
        return Call("pause", PERSON, PERSON.id, kinds=kinds, on=chance.random() < 0.4)

    def asks(self, what: str, failure: Failure) -> Call:
        """About one record."""
        return Call(what, PERSON, PERSON.id, failures=(failure,))

    def resumes(self) -> Call:
        """Everything goes on."""
        return Call("pause", PERSON, PERSON.id, kinds=KINDS, on=False)

    def hears_nothing(self, call: Call) -> None:
        self.unknown = call

    def hears(self, call: Call, _reply: Reply) -> None:
        if self.unknown is call:
            self.unknown = None
