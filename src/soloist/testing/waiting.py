"""What is still to be done, and the picture of it when it does not come to its end."""

import difflib
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from soloist.inspector import InstanceSnapshot, Snapshot
from soloist.message import ErrorRecord
from soloist.store.rehearsal import KindLeft
from soloist.testing.failures import titled

FIRST_LOOK, LONGEST_LOOK = 0.0005, 0.005
"""Seconds between looks: most of what is waited for takes a millisecond."""

MOST_ERRORS = 5


class NotEmpty(AssertionError):
    """Something is still to be done; the message is a picture of the system."""


class Looks:
    """Looks again and again, seldom after a while.

    Args:
        within: seconds after which it is over.
    """

    def __init__(self, within: float) -> None:
        self._give_up = time.monotonic() + within
        self._wait = FIRST_LOOK

    def again(self) -> bool:
        """Wait a moment; False if the time is over."""
        if time.monotonic() > self._give_up:
            return False
        time.sleep(self._wait)
        self._wait = min(self._wait * 1.5, LONGEST_LOOK)
        return True


def wait_for(condition: Callable[[], bool], within: float) -> bool:
    """Until it is so; False if it is not in that time."""
    looks = Looks(within)
    while not condition():
        if not looks.again():
            return False
    return True


def unhandled(kinds: Mapping[str, KindLeft], handled: Collection[str], declared: Collection[str]) -> str:
    """What waits and will never be handled; empty if there is nothing of that sort.

    Args:
        handled: by an instance that is there.
        declared: by the App's code.
    """
    for kind, left in kinds.items():
        if left.open and kind not in handled:
            many = "1 message waits" if left.open == 1 else f"{left.open} messages wait"
            if kind in declared:
                return f"{many} of the kind {kind!r}, which no running instance handles"
            close = difflib.get_close_matches(kind, declared, n=1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            return f"{many} of the kind {kind!r}, for which the App has no handler{meant}"
    return ""


def picture(
    says: str, kinds: Mapping[str, KindLeft], seen: Snapshot, errors: Sequence[ErrorRecord], gone: Sequence[str]
) -> str:
    """The whole system in a few lines, for a test that fails."""
    lines = [says]
    for kind, left in kinds.items():
        of = seen.kinds.get(kind)
        if of is None or not (left.open or left.delayed or of.failed):
            continue
        words = [f"{max(0, left.open - of.claimed)} pending", f"{of.claimed} claimed", f"{left.delayed} delayed"]
        words += [f"{of.completed} completed", f"{of.failed} failed", *(["PAUSED"] if of.paused else [])]
        lines.append(f"  {kind}: {', '.join(words)}")
    lines += [f"  instance {each.number}: {_doing(each)}" for each in seen.instances]
    lines += [f"  {each}" for each in gone]
    if not seen.instances:
        lines.append("  no instance is there")
    lines += [f"  failed: {titled(record)}" for record in errors[:MOST_ERRORS]]
    if len(errors) > MOST_ERRORS:
        lines.append(f"  … and {len(errors) - MOST_ERRORS} more")
    return "\n".join(lines)


def _doing(seen: InstanceSnapshot) -> str:
    holds = f", holds {seen.claimed}" if seen.claimed else ""
    doing = f", for {seen.doing.for_ms / 1000:.1f} s at work on {seen.doing.message}" if seen.doing else ""
    stack = "\n" + "\n".join(f"      {line}" for line in seen.doing.stack.splitlines()) if doing and seen.doing else ""
    return f"{seen.role}{holds}{doing}{stack}"
