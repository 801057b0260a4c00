"""`doctor`: is this server fit, and what to change."""

from collections.abc import Callable

import click

from soloist.cli.connection import connects
from soloist.target import Purpose, Target

NEGATIVE = 1


@click.command("doctor", short_help="Is this server fit? What to change.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per finding.")
@connects
def doctor(target: Callable[..., Target], as_json: bool) -> int:
    """Is this server fit? Version, eviction, persistence, latency, permissions; and what to change."""
    import json

    from soloist.cli.output import write
    from soloist.store.fitness import examine

    goal = target(purpose=Purpose.EXAMINE)
    findings = examine(goal.server, goal.namespace)
    for finding in findings:
        if as_json:
            told = {"what": finding.what, "severity": finding.severity.value, "says": finding.says}
            write(json.dumps({**told, "remedy": finding.remedy}) + "\n")
        else:
            remedy = f"\n           {finding.remedy}" if finding.remedy else ""
            write(f"{finding.severity.value:<8}  {finding.what}: {finding.says}{remedy}\n")
    is_unfit = any(finding.severity.value == "unfit" for finding in findings)
    if not as_json:
        write(f"{goal.where} is {'not fit' if is_unfit else 'fit'} for soloist\n")
    return NEGATIVE if is_unfit else 0
