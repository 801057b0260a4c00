"""What a `next` claims and where a message goes that is given back: shares, poison and suspects, by docs/protocol.md."""

from collections.abc import Mapping, Sequence

from soloist.store.messages import Claimed
from tests.model.state import State

SUSPECT_WAITS_MS, LONGEST_HOLD_MS = 10_000, 30_000
QUICK = 64


def give_back(state: State, ids: Sequence[str], kinds: Mapping[str, str], max_attempts: int) -> None:
    """To the head of the list that it came from, in the old order, deaths and retries unchanged."""
    for each in reversed(ids):
        state.lists.setdefault(f"{where_to(state, each, max_attempts)}:{kinds[each]}", []).insert(0, each)


def where_to(state: State, ident: str, max_attempts: int) -> str:
    """Where a message waits, by what it has been through."""
    of = state.attempts.get(ident)
    return "pending" if of is None else "suspect" if of.deaths >= max_attempts - 1 else "again"


def become_due(state: State, kind: str, now: int, max_attempts: int) -> int | None:
    """What is due waits like the others; answers in how many ms the next one is."""
    dues = state.delayed.get(f"delayed:{kind}", {})
    for ident in sorted((each for each in dues if dues[each] <= now), key=lambda each: (dues[each], f"{each} ")):
        where = where_to(state, ident, max_attempts)
        if where == "suspect":
            state.attempts[ident] = state.attempts[ident]._replace(since=now)
        state.lists.setdefault(f"{where}:{kind}", []).append(ident)
        del dues[ident]
    return min(dues.values()) - now if dues else None


def claim(state: State, ident: str, want: Mapping[str, int], now: int) -> tuple[list[str], int, str]:
    """What is claimed, for how many ms to hold, and the suspect if it is one; takes it from the lists."""
    held = state.claimed[ident]
    kinds = [kind for kind, many in want.items() if many and kind not in state.paused]
    if not kinds:
        return [], 0, ""
    if held[:1] == [state.lives[ident].alone]:
        return [], SUSPECT_WAITS_MS, ""
    suspects = {kind: state.lists[f"suspect:{kind}"][0] for kind in kinds if state.lists.get(f"suspect:{kind}")}
    for kind, suspect in suspects.items():
        of = state.attempts[suspect]
        if now - of.since < SUSPECT_WAITS_MS:
            continue
        if not held:
            return [state.lists[f"suspect:{kind}"].pop(0)], 0, suspect
        if of.hold < now:
            hold_ms = min((now - of.since) // 2, LONGEST_HOLD_MS)
            state.attempts[suspect] = of._replace(hold=now + 3 * hold_ms)
            return [], hold_ms, ""
    taken = [each for kind in kinds for each in _share(state, kind, want[kind])]
    if taken or held or not suspects:
        return taken, 0, ""
    kind, suspect = next(iter(suspects.items()))
    return [state.lists[f"suspect:{kind}"].pop(0)], 0, suspect


def _share(state: State, kind: str, want: int) -> list[str]:
    """All of again up to what is wanted, then a share of pending, or half of what is wanted; all of it if that is many."""
    again, pending = state.lists.get(f"again:{kind}", []), state.lists.get(f"pending:{kind}", [])
    taken, again[:want] = again[:want], []
    want -= len(taken)
    least = -(-want // 2) if want < QUICK else want
    share = min(want, max(-(-len(pending) // len(state.instances())), least))
    taken, pending[:share] = taken + pending[:share], []
    return taken


def is_told(state: State, told: Claimed, ids: Sequence[str]) -> bool:
    """Whether the caller was told of these messages, in this order, each with its deaths."""
    named = [each.split(b" ", 1)[0].decode() for each in told.envelopes]
    known = [each for each in ids if each in state.attempts]
    deaths = {each: (state.attempts[each].deaths, state.attempts[each].retries) for each in known}
    return named == ids and {each.decode(): counts for each, counts in told.attempts.items()} == deaths
