"""What becomes of messages that are done, and of what they asked to be written and published, by docs/protocol.md."""

from collections.abc import Mapping

from soloist.store.messages import CommittedMessage, FailedMessage, RetriedMessage
from tests.model.places import Named, is_refused
from tests.model.state import Attempts, State
from tests.model.step import count


def settle(state: State, named: Named, kinds: Mapping[str, str], now_us: int) -> tuple[int, int]:
    """Commits, failures and retries, in the order of places; answers how many were completed and failed."""
    refused = set(named.refused)
    completed = [each for each in named.completed if each not in refused]
    for each in completed:
        count(state, "completed", 1, kinds[each])
    failed = 0
    for special in named.specials:
        ident = special.id.decode()
        if isinstance(special, RetriedMessage):
            _delay(state, ident, kinds[ident], now_us // 1000 + special.after_ms)
        elif isinstance(special, FailedMessage) or is_refused(special):
            failed += 1
            state.errors[ident] = now_us + failed
            count(state, "failed", 1, kinds[ident])
        else:
            _commit(state, special, now_us // 1000)
    for each in (*named.completed, *named.failed):
        state.attempts.pop(each, None)
    return len(completed), failed


def _delay(state: State, ident: str, kind: str, due: int) -> None:
    of = state.attempts.get(ident, Attempts(0, 0, 0, 0))
    state.attempts[ident] = Attempts(of.deaths, of.retries + 1, 0, 0)
    state.delayed.setdefault(f"delayed:{kind}", {})[ident] = due
    count(state, "retried", 1, kind)


def _commit(state: State, special: CommittedMessage, now: int) -> None:
    for write in special.writes:
        name = "data:" + write.key.rpartition(":")[2]
        before = 0 if write.command == "set" else state.data.get(name, 0)
        state.data[name] = before + int(write.arguments[0])
    for kind, envelope, delay_ms in special.messages:
        ident = envelope.split(b" ", 1)[0].decode()
        if delay_ms:
            state.delayed.setdefault(f"delayed:{kind}", {})[ident] = now + delay_ms
        else:
            state.lists.setdefault(f"pending:{kind}", []).append(ident)
        count(state, "published", 1, kind)
