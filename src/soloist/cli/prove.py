"""`prove`: is your handler, or your source, safe to be killed at every line?"""

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from soloist.cli.connection import Reach, connects
from soloist.cli.numbers import COUNT
from soloist.cli.output import harmless_lines, is_terminal, keep_stdout, write
from soloist.cli.own_app import own_app, own_function
from soloist.errors import UsageError

if TYPE_CHECKING:
    from soloist.app import App
    from soloist.prove import Verdict
    from soloist.settings import Settings

NEGATIVE = 1

LONG = 1.0
"""Seconds after which somebody at a terminal wants to know how far it is."""

EVERY = 0.1
"""Seconds between two looks of theirs."""

EPILOG = """\b
Examples:
  soloist prove shop:app --kind payment --message '{"cents": 100}' \\
      --world shop:world --reset shop:reset
  soloist prove shop:app --source outbox --cursor 100 \\
      --world shop:world --reset shop:reset
\b
  `world` answers what is there outside, for example
      {"charges": 1, "orders": [[42, "paid"]]}
  and `reset` sets it back; both take no arguments.
"""


@click.command("prove", short_help="Kill your handler after every line: is it safe to repeat?", epilog=EPILOG)
@click.argument("module_app", metavar="MODULE:APP")
@click.option("--kind", metavar="KIND", help="Whose handler.  [default: the App's only one]")
@click.option("--message", "bodies", metavar="BODY", multiple=True, help="What it says; several times for a batch.")
@click.option("--key", metavar="KEY", default="", help="The message's key, as your source gives it.  [default: its id]")
@click.option("--source", metavar="NAME", help="A source, in place of a handler.")
@click.option("--cursor", metavar="JSON", help="Where the source goes on.  [default: none is stored yet]")
@click.option(
    "--calls",
    metavar="N",
    type=COUNT,
    help="Pages of the source, fewer if it has nothing more.  [default: 3]",
)
@click.option("--world", metavar="MODULE:FUNCTION", help="Answers the outside world, to be compared.")
@click.option("--reset", metavar="MODULE:FUNCTION", help="Sets the outside world back, before each run.")
@click.option("--most", metavar="N", type=COUNT, help="Crash points that are tried.  [default: 200]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@connects
def prove(
    target: Reach,
    module_app: str,
    as_json: bool,
    **asked: Any,
) -> int:
    """Run a handler once, then once for each line that it executed: killed after it, and begun again.

    The world must be the same in the end. No server is needed: what an attempt asks Redis for is known. What your code
    prints in the first run goes to stderr.
    """
    if target.is_named:
        raise UsageError("prove needs no server: leave out the option that names one.")
    _require_one_of_both(asked)
    keep_stdout()  # before anything of the user's runs
    app = own_app(module_app, {})
    verdict = _verdict(app, target.settings(app), asked)
    if as_json:
        write(json.dumps(verdict.as_json()) + "\n")
    else:
        write(harmless_lines(str(verdict)) + "\n")
    return 0 if verdict.is_safe else NEGATIVE


def _require_one_of_both(asked: dict[str, Any]) -> None:
    """What belongs to handlers is refused beside a source, and the other way round."""
    if asked["source"] is not None:
        for name, option in (("kind", "--kind"), ("bodies", "--message"), ("key", "--key")):
            if asked[name]:
                raise UsageError(f"{option} belongs to a handler, --source is a source: leave out one of both.")
    else:
        for name in ("cursor", "calls"):
            if asked[name] is not None:
                raise UsageError(f"--{name} belongs to a source: name it with --source.")
        if not asked["bodies"]:
            raise UsageError("--message is missing: what the handler is to be given; or --source for a source.")
    if asked["world"] is not None and asked["reset"] is None:
        raise UsageError(
            "--world needs --reset: each run is to begin with the same world, and what one left behind would be counted "
            "in the next."
        )


def _verdict(app: "App", settings: "Settings", asked: dict[str, Any]) -> "Verdict":
    from soloist.prove import prove_handler, prove_source
    from soloist.prove.proving import CALLS, MOST
    from soloist.prove.world import apart

    functions: dict[str, Callable[[], Any] | None] = {
        name: apart(own_function(asked[name], f"--{name}")) if asked[name] is not None else None
        for name in ("world", "reset")
    }
    progress = Progress()
    shared: dict[str, Any] = {**functions, "most": asked["most"] or MOST, "settings": settings, "progress": progress}
    try:
        if asked["source"] is not None:
            calls = asked["calls"] or CALLS
            return prove_source(app, asked["source"], cursor=_cursor(asked["cursor"]), calls=calls, **shared)
        bodies = [body.encode(errors="surrogateescape") for body in asked["bodies"]]
        return prove_handler(app, _kind(app, asked["kind"]), *bodies, key=asked["key"], **shared)
    finally:
        progress.end()


def _kind(app: "App", kind: str | None) -> str:
    if kind is not None:
        return kind
    if len(app.handlers) != 1:
        known = ", ".join(app.handlers) or "none"
        raise UsageError(f"--kind is missing: {app.where} has handlers for: {known}.")
    return next(iter(app.handlers))


def _cursor(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"--cursor: {text!r} is not JSON: {error}. Write text in quotes of its own: '\"abc\"'."
        ) from None


class Progress:
    """How far it is, on a terminal, if it takes long."""

    def __init__(self) -> None:
        self._is_wanted = is_terminal(sys.stderr)
        self._begun = self._shown = time.monotonic()
        self._is_there = False

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if self._is_wanted and now - self._begun > LONG and now - self._shown > EVERY:
            self._shown, self._is_there = now, True
            sys.stderr.write(f"\r\x1b[K{done:,} of {of:,} crash points")
            sys.stderr.flush()

    def end(self) -> None:
        """The line is gone."""
        if self._is_there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
