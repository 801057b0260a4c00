"""Is the system well? Every finding has a code, a sentence and a remedy. Pure: from what the Inspector saw.

This is about the whole system, for alerts. Whether one process is well is its own affair (`run --health-port`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from soloist.inspector import InstanceSnapshot, ServerSnapshot, Snapshot
from soloist.settings import Settings
from soloist.store.history import Sample

STALLED = 15
"""Seconds without a completion, while messages wait, after which that is no accident."""

NOT_CONSUMING = 30.0
"""Seconds for which an instance may ask for nothing although messages wait for it."""

FULL = 0.9
"""The share of the server's memory limit from which on it is about to be full."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not well."""

    code: str
    says: str
    remedy: str


def findings(
    seen: Snapshot, history: Sequence[Sample], server: ServerSnapshot, settings: Settings, max_errors: int
) -> list[Finding]:
    """Everything that is not well; empty if all is."""
    return [
        *_messages(seen, history, max_errors),
        *_generator(seen, settings),
        *_kinds(seen),
        *(finding for instance in seen.instances for finding in _instance(instance, seen)),
        *_server(server),
    ]


def _messages(seen: Snapshot, history: Sequence[Sample], max_errors: int) -> list[Finding]:
    found = []
    if not seen.adds_up:
        found.append(
            Finding(
                "lost-or-doubled",
                "published is not pending + claimed + completed + failed: messages were lost or doubled",
                "Did somebody write to the namespace's keys? Please report it.",
            )
        )
    if _is_stalled(seen, history):
        found.append(
            Finding(
                "stalled",
                f"{seen.pending:,} messages wait, more and more, and none was completed for {STALLED} s",
                "Start handlers, or see with `status --stacks` what they do.",
            )
        )
    if seen.errors > max_errors:
        found.append(
            Finding(
                "errors",
                f"{seen.errors:,} error records rest in the error store, more than {max_errors:,}",
                "Look at them (`errors list`), then put them back (`errors requeue`) or drain them (`getErrors`).",
            )
        )
    return found


def _is_stalled(seen: Snapshot, history: Sequence[Sample]) -> bool:
    """By the history, which ends where nobody generates; then nothing new comes that could wait."""
    recent = [sample for sample in history if history[-1].at_ms - sample.at_ms <= STALLED * 1000]
    if not recent or recent[-1].at_ms - recent[0].at_ms < (STALLED - 2) * 1000:
        return False
    done = {sample.completed + sample.failed for sample in recent}
    return len(done) == 1 and recent[-1].pending > recent[0].pending and seen.completed + seen.failed in done


def _generator(seen: Snapshot, settings: Settings) -> list[Finding]:
    if not seen.instances:
        return [Finding("no-instance", "no instance is there", "Start one: `soloist`.")]
    bound_ms = settings.lease_ms + 2 * settings.heartbeat_ms
    if seen.term is None and seen.vacant_ms > bound_ms:
        says = f"nobody has generated for {seen.vacant_ms / 1000:.0f} s, though {len(seen.instances)} are there"
        return [Finding("no-generator", says, "Is one of them allowed to (--role any)? Look at their logs.")]
    return []


def _kinds(seen: Snapshot) -> list[Finding]:
    handled = {kind for instance in seen.instances for kind in instance.kinds}
    return [
        Finding(
            "no-handler",
            f"{kind.pending:,} messages of the kind {name!r} wait, and no instance handles it",
            f"Start an instance of an App with a handler for {name!r}.",
        )
        for name, kind in seen.kinds.items()
        if kind.pending and name not in handled and seen.instances
    ]


def _instance(instance: InstanceSnapshot, seen: Snapshot) -> list[Finding]:
    who = f"instance #{instance.number} ({instance.host}, process {instance.pid})"
    found = []
    waiting = [kind for kind in instance.kinds if kind in seen.kinds and seen.kinds[kind].pending]
    unpaused = [kind for kind in waiting if not seen.kinds[kind].paused]
    should_work = instance.role == "handler" and unpaused and seen.oldest_pending_ms > NOT_CONSUMING * 1000
    if should_work and instance.claimed == 0 and instance.turn_ms > NOT_CONSUMING * 1000:
        says = f"{who} is alive but has asked for no message for {instance.turn_ms / 1000:.0f} s, though some wait"
        found.append(Finding("not-consuming", says, "Restart it, and report its log."))
    for name, trouble in instance.sources.items():
        since = f"for {trouble.for_ms / 1000:.0f} s"
        if trouble.error:
            says = f"the source {name!r} of {who} has failed {since}: {trouble.error}"
            remedy = "See its log for the traceback. After 30 s another instance tries, if one is in line."
            found.append(Finding("source-fails", says, remedy))
        else:
            says = f"the source {name!r} of {who} has not returned {since}: nothing of it is published meanwhile"
            remedy = "Give it time limits of its own. After its timeout another instance tries, if one is in line."
            found.append(Finding("source-late", says, remedy))
    if instance.late_ms:
        says = f"the heart of {who} beat {instance.late_ms / 1000:.1f} s late in the last minute"
        remedy = "Code that holds the interpreter lock, or a machine with too much to do? See docs/guarantees.md."
        found.append(Finding("heart-late", says, remedy))
    return found


def _server(server: ServerSnapshot) -> list[Finding]:
    found = []
    if server.max_memory and server.used_memory > FULL * server.max_memory:
        says = f"the server uses {server.used_memory / server.max_memory:.0%} of its memory limit"
        found.append(Finding("memory", says, "Raise maxmemory, or find out what fills it (`errors`, `max_pending`)."))
    if server.evicts:
        says = f"the server throws keys away when its memory is full (maxmemory-policy {server.policy})"
        found.append(Finding("evicting", says, "Set maxmemory-policy to noeviction."))
    if server.evicted:
        says = f"the server has thrown away {server.evicted:,} keys since its start"
        found.append(Finding("evicted", says, "Set maxmemory-policy to noeviction; messages may be lost."))
    if not server.persists:
        says = "the server does not persist: a restart loses what came since its last snapshot, or everything"
        found.append(Finding("not-persisting", says, "Set appendonly to yes."))
    elif server.persistence_fails:
        says = "the server's last attempt to write its file failed"
        found.append(Finding("not-persisting", says, "Is its disk full? Look at its log."))
    return found
