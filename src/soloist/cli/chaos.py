"""`chaos`: break instances, connections and the server by a seed, and judge what came of it."""

import difflib
import random
import signal
from typing import Any

import click

from soloist.cli.connection import Reach, connects
from soloist.cli.numbers import COUNT, Number
from soloist.cli.output import note, write
from soloist.cli.own_app import own_app
from soloist.cli.report_file import require_writable, save
from soloist.errors import UsageError

NEGATIVE = 1
MOST_FAULTS = 10_000
FAULT_NAMES = (
    "kill",
    "freeze",
    "terminate",
    "start",
    "lock",
    "slow",
    "die",
    "get-errors",
    "cut",
    "lost-reply",
    "delay",
    "half-open",
    "trickle",
    "heartbeat",
    "will",
    "unplug",
    "restart",
    "stall",
    "script-flush",
    "client-kill",
    "memory-full",
    "read-only",
    "misconf",
    "clock",
    "roll-back",
    "empty",
)  # as in chaos/catalogue.py, which would cost time to import for --help; a test compares

EPILOG = """\b
Faults:
  of an instance    kill freeze terminate start lock slow die get-errors
  of connections    cut lost-reply delay half-open trickle heartbeat will
  of the network    unplug (root, Linux)
  of the server     restart stall script-flush client-kill memory-full
                    read-only misconf clock; only if named: roll-back empty
\b
Examples:
  soloist chaos                          two minutes of everything
  soloist chaos --seed 7 --report run.html
  soloist chaos --messages 1000000 --faults kill=200,freeze=50,restart=10
  soloist chaos shop:app --faults kill,freeze --seconds 60
"""


class Faults(click.ParamType):  # type: ignore[type-arg]  # generic only in the newest click
    """KIND=N,… (so many of each), or KIND,… (only these, as many as there is time for)."""

    name = "KIND[=N],…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int | None]:
        wanted: dict[str, int | None] = {}
        for word in str(value).split(","):
            name, is_counted, many = word.partition("=")
            if name not in FAULT_NAMES:
                meant = "".join(f" Did you mean {each}?" for each in difflib.get_close_matches(name, FAULT_NAMES, n=1))
                self.fail(f"there is no fault {name!r}.{meant} There are: {', '.join(FAULT_NAMES)}.", param, ctx)
            if is_counted and not (many.isdecimal() and 0 < int(many) <= MOST_FAULTS):
                self.fail(f"{word!r} is not allowed; write {name}=N, N from 1 to {MOST_FAULTS}.", param, ctx)
            wanted[name] = int(many) if is_counted else None
        if len({many is None for many in wanted.values()}) > 1:
            self.fail(f"{value!r}: say how many of each fault, or of none.", param, ctx)
        return wanted


@click.command("chaos", short_help="Break it by a seed: is anything lost or doubled?", epilog=EPILOG)
@click.argument("module_app", metavar="[MODULE:APP]", required=False)
@click.option(
    "--messages", metavar="N", type=COUNT, default=20_000, show_default=True, help="Spread over the time of the plan."
)
@click.option(
    "--instances",
    metavar="N",
    type=Number(int, 2, 100, "a whole number, 2 to 100"),
    default=5,
    show_default=True,
    help="Whoever ends is replaced.",
)
@click.option(
    "--seed", metavar="N", type=Number(int, 0, 2**53, "a whole number, 0 or more"), help="All follows from it."
)
@click.option(
    "--seconds",
    metavar="SECONDS",
    type=Number(float, 5, 86_400, "a number of seconds, 5 to 86400"),
    help="How long the plan lasts.  [default: 120, or what --faults takes]",
)
@click.option("--faults", type=Faults(), help="So many of each; or only these.  [default: all that are possible here]")
@click.option(
    "--persistence",
    type=click.Choice(["no", "everysec", "always"]),
    help="Of the private server: no append-only file, or when it is flushed.  [default: always]",
)
@click.option(
    "--no-bounds",
    is_flag=True,
    help="Do not judge how quick takeovers are: for a machine that is busy with other things.",
)
@click.option("--json", "in_json", is_flag=True, help="One JSON object.")
@click.option("--report", metavar="FILE", type=click.Path(dir_okay=False), help="A page with the timeline (HTML).")
@connects
def chaos(
    target: Reach,
    module_app: str | None,
    seed: int | None,
    seconds: float | None,
    faults: dict[str, int | None] | None,
    persistence: Any,
    in_json: bool,
    report: str | None,
    **asked: Any,
) -> int:
    """Break real instances, their connections and a private server, by a plan that a seed decides; then judge.

    Nothing may be lost or doubled, no term overlap another, and takeovers must be as quick as promised. With a server
    that an option names, only instances and connections are harmed, in a fresh namespace, which is removed afterwards.
    MODULE:APP: with your own App; its sources and handlers run for real, so give them something that may be broken.
    """
    from soloist.chaos.report import page
    from soloist.chaos.told import again, as_json, as_text
    from soloist.chaos.trial import run
    from soloist.chaos.wish import wish_for
    from soloist.lab.progress import bar

    if persistence is not None and target.is_named:
        raise UsageError("--persistence is that of the private server: a named one has what it has.")
    if module_app is not None:
        own_app(module_app, {}).check()
    if report is not None:
        require_writable(report)
    wish = wish_for(
        seed=random.randrange(1_000_000) if seed is None else seed,
        seconds=seconds,
        faults=faults,
        target=module_app or "",
        settings=target.settings(),
        persistence=persistence or "always",
        server=target().server if target.is_named else None,
        **asked,
    )
    impossible = wish.impossible()
    plan = wish.plan(impossible)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clear up as after Ctrl-C
    note(f"seed {wish.seed}: {len(plan.steps)} faults in {plan.seconds:.0f} s; again: {again(wish)}")
    outcome = run(wish, plan, bar())
    write(as_json(wish, outcome) if in_json else as_text(wish, outcome, impossible))
    if report is not None:
        save(report, page(wish, outcome))
    return 0 if outcome.verdict.is_ok else NEGATIVE
