"""What a beat's answer means for the instance. No I/O."""

from enum import Enum, auto

from soloist.store.presence import Heard


class Consequence(Enum):
    """What to do after a beat."""

    GO_ON = auto()
    RENEWED = auto()
    """The term that we play was extended."""
    ADOPT = auto()
    """We hold a term that we do not play yet: play it."""
    LOSE_TERM = auto()
    """The term that we play is another's."""
    STEP_DOWN = auto()
    """The term was extended, but somebody asked us to hand over."""
    RESIGNED = auto()
    """The term that we played is vacant, as we wished."""
    BE_REBORN = auto()
    """Redis holds something for us that we cannot have: it went back to an older state."""


def consequence(heard: Heard, played: int, highest: int) -> Consequence:
    """Decide.

    Args:
        heard: the answer.
        played: the term that the beat named, 0 for none.
        highest: the highest term that this incarnation ever played. A lower one was given out by a server that has
            forgotten the rest: what we published in it would be numbered twice.
    """
    if heard.role == "generator":
        return Consequence.RENEWED
    if heard.role == "asked":
        return Consequence.STEP_DOWN
    if heard.role == "elected":
        return Consequence.ADOPT if heard.term is not None and heard.term.number > highest else Consequence.BE_REBORN
    if heard.role == "superseded":
        return Consequence.LOSE_TERM
    if played:
        return Consequence.RESIGNED
    return Consequence.GO_ON


def permitted_until(sent: float, lease: float) -> float:
    """Until when (monotonic) a generator may publish on its own: a tenth of the lease before the others may judge."""
    return sent + lease - lease / 10
