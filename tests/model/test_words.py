"""What the histories never do, they do not show: every word of every script's contract, and every transition, occurs."""

from collections import Counter

import pytest

from tests.model.harness import History
from tests.model.watching import SCRIPTS
from tests.servers import Store

HISTORIES = 60
LENGTH = 250
FIRST_SEED = 300_000

NEVER = {
    ("join", "PROTOCOL"): "needs another version of soloist; see tests/store/test_join.py",
    ("join", "FORBIDDEN"): "needs an ACL, which no history changes; see tests/store/test_join.py",
    ("join", "FOREIGN"): "needs somebody else who writes under our keys",
    ("next", "FOREIGN"): "the same",
    ("publish", "BUSY"): "needs a schedule, of which the histories have none; see tests/store/test_agenda.py",
}
"""Words that no history hears, each with its reason."""

SAID = {
    ("beat", "OK handler"),
    ("beat", "OK generator"),
    ("beat", "OK asked"),
    ("beat", "OK elected"),
    ("beat", "OK superseded"),
    ("next", "OK hold"),
    ("next", "OK refused"),
    ("publish", "SUPERSEDED term"),
}
"""Answers that have the same first word, and mean something else."""

TRANSITIONS = {
    "publish: published",
    "next: pending -> claimed",
    "next: again -> claimed",
    "next: suspect -> claimed",
    "next: claimed -> gone",
    "next: claimed -> errors",
    "next: claimed -> pending",
    "next: claimed -> again",
    "next: claimed -> suspect",
    "next: claimed -> delayed",
    "next: handed on",
    "beat: delayed -> pending",
    "beat: delayed -> again",
    "beat: delayed -> suspect",
    "leave: claimed -> pending",
    "leave: claimed -> again",
    "leave: claimed -> suspect",
    "leave: drained -> errors",
    "leave: instance gone",
    "leave: drainer gone",
    "leave: term vacated",
    "reclaim: claimed -> again",
    "reclaim: claimed -> suspect",
    "reclaim: claimed -> errors",
    "reclaim: drained -> errors",
    "reclaim: instance gone",
    "reclaim: instance gone by will",
    "reclaim: drainer gone",
    "reclaim: drainer gone by will",
    "reclaim: term vacated",
    "beat: term vacated",
    "beat: elected, the term was vacant",
    "beat: elected, the term was over",
    "beat: elected, the term was held",
    "drain: errors -> drained",
    "confirm: drained -> gone",
    "requeue: errors -> pending",
    "discard: errors -> gone",
}
"""The arrows of docs/protocol.md, each with the script that may go it. A held term is taken from a holder by its will."""

EVENTS = {
    "its reply is lost",
    "the first copy, after the second",
    "the first copy, late",
    "a copy after another",
    "a copy after a failover",
    "killed",
    "lost its power",
    "subscribed",
    "subscription lost",
    "time passes",
    "the clock goes back",
    "the server goes back",
}


@pytest.mark.timeout(120)
def test_every_word_and_every_transition_occurs(store: Store) -> None:
    """As many histories as it takes; the counts are printed."""
    contract = {(script.name, word) for script in SCRIPTS for word in script.replies} | SAID
    words, others = Counter[tuple[str, str]](), Counter[str]()
    missing: set[str] = set()
    for seed in range(FIRST_SEED, FIRST_SEED + HISTORIES):
        history = History(store, seed, rolls_back=seed % 2 == 0)
        history.run(LENGTH)
        words += history.words  # without those that count 0
        others += history.transitions + history.events
        missing = {str(each) for each in contract - words.keys() - NEVER.keys()}
        missing |= (TRANSITIONS | EVENTS) - others.keys()
        if not missing:
            break
    print(*sorted([*words.items(), *others.items()], key=str), sep="\n")
    assert not missing
    assert not NEVER.keys() & words.keys(), "it is heard after all"
    made = {each for each in others if ": " in each}
    assert made <= TRANSITIONS, "a transition that nobody knows"
