"""The outcome of a run in words, and as JSON."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict

from soloist.chaos.trial import Outcome
from soloist.chaos.verdict import Verdict
from soloist.chaos.wish import Wish
from soloist.durations import duration

PARTS = ("p50", "p99", "max")


def as_json(wish: Wish, outcome: Outcome) -> str:
    """One object."""
    verdict = outcome.verdict
    facts = {
        "seed": wish.seed,
        **verdict.facts(),
        "faults": dict(outcome.faults),
        "takeover_ms": {kind: asdict(of) for kind, of in verdict.takeovers.items()},
        "instances": outcome.instances,
        "seconds": round(outcome.plan.seconds, 1),
        "verdict": "ok" if verdict.is_ok else "not ok",
        "wrong": list(verdict.wrong),
    }
    return json.dumps(facts) + "\n"


def as_text(wish: Wish, outcome: Outcome, impossible: Mapping[str, str]) -> str:
    """For people: what was done, what came of it, the verdict; and, if it is negative, how to have it again."""
    verdict = outcome.verdict
    faults, seconds = sum(outcome.faults.values()), duration(1000 * outcome.plan.seconds)
    lines = [
        f"seed {wish.seed}: {faults} faults in {seconds}, {outcome.instances} instances in all",
        "  " + ", ".join(f"{kind} {many}" for kind, many in sorted(outcome.faults.items())),
    ]
    if outcome.passed_over:
        lines.append("  nobody to hit: " + ", ".join(f"{kind} {many}" for kind, many in outcome.passed_over.items()))
    lines += [f"  left out: {', '.join(names)} ({why})" for why, names in _by_reason(impossible).items()]
    lines += [
        _counts(verdict, "published", "completed", "failed"),
        _counts(verdict, "lost", "duplicated", "unexpected", "recovered"),
        _counts(verdict, "overlapping_terms", "superseded"),
    ]
    for kind, of in verdict.takeovers.items():
        figures = ", ".join(f"{part} {getattr(of, part):,} ms" for part in PARTS)
        lines.append(f"takeover after {kind}: {figures} ({of.samples} calm ones, {of.left_out} left out)")
    if verdict.is_ok:
        lines.append("verdict: ok")
    else:
        lines += ["verdict: NOT OK", *(f"  {each}" for each in verdict.wrong), f"again: {again(wish)}"]
    return "\n".join(lines) + "\n"


def _counts(verdict: Verdict, *names: str) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {getattr(verdict, name):,}" for name in names)


def again(wish: Wish) -> str:
    """The command that repeats it."""
    words = ["soloist", "chaos", *([wish.target] if wish.target else [])]
    words += ["--messages", str(wish.messages), "--instances", str(wish.instances), "--seed", str(wish.seed)]
    if wish.wanted is not None:
        words += ["--faults", ",".join(f"{kind}={many}" for kind, many in wish.wanted.items())]
    else:
        words += ["--seconds", f"{wish.seconds:g}"]
        words += ["--faults", ",".join(sorted(wish.only))] if wish.only is not None else []
    if wish.server is None:
        words += ["--persistence", wish.persistence]
    return shlex.join(words)


def _by_reason(impossible: Mapping[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for kind, why in impossible.items():
        reasons.setdefault(why, []).append(kind)
    return reasons
