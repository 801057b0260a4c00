"""`app.run()`: what `soloist run` does, for a program of the user's own."""

import asyncio
import logging
import signal
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from soloist.cli.one_instance import INTERRUPTED, Wish, run_instance
from soloist.cli.output import ClosedPipe, note
from soloist.errors import ForeignData, SoloistError, UsageError
from soloist.running import narrowed, part_of
from soloist.target import Purpose, Said, meet, named, resolve

if TYPE_CHECKING:
    from soloist.app import App


def run(app: "App", said: Said, kinds: Collection[str] | None, role: Any) -> int:
    """Run it to its end; answers the exit code. What a user did wrong is told on stderr.

    Raises:
        UsageError: it was called where it cannot listen for signals.
    """
    from soloist.cli import logs

    _require_main_program()
    if not logging.getLogger("soloist").hasHandlers():
        logs.set_up("info", "text")
    with _signals_given_back():
        try:
            part = part_of(role)
            chosen = narrowed(app, kinds)
            chosen.check()
            goal = meet(resolve(said, chosen, needs_connection=True), Purpose.CHANGE)
            try:
                return run_instance(chosen, goal, part, Wish(is_replaced=False))
            except ForeignData as error:
                raise named(error, goal) from error
        except ClosedPipe:
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
        except SoloistError as error:
            note(f"soloist: {error}")
            return error.exit_code


def _require_main_program() -> None:
    if threading.current_thread() is not threading.main_thread():
        raise UsageError(
            "app.run() listens for signals, which only the main thread can: call it there, or app.start() here."
        )
    with suppress(RuntimeError):  # there is none
        asyncio.get_running_loop()
        raise UsageError(
            "app.run() would stand in the way of the event loop that runs here: write `await app.astart()`, and at the "
            "end `await app.astop()`."
        )


@contextmanager
def _signals_given_back() -> Iterator[None]:
    """Whoever listened for them before does so again."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, listener in before.items():
            if listener is not None:  # None: it was not set by Python, and cannot be given back
                signal.signal(number, listener)
