"""A porter: waits at a bell for somebody who is busy with other things meanwhile."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from soloist.errors import Unavailable
from soloist.runtime.patience import Patience
from soloist.store.link import Link

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance


class Porter:
    """Waits while it is asked to, and says when a token came.

    Args:
        name: of its thread.
        bell: the key of the list at which it waits.
        block: seconds for which it waits at a time.
        rung: what to do then.
        is_wanted: whether to wait on, asked whenever a wait has ended without a token.
    """

    def __init__(
        self,
        instance: "Instance",
        name: str,
        bell: str,
        block: float,
        rung: Callable[[], None],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._bell = bell
        self._is_wanted = is_wanted
        self._block = block
        self._rung = rung
        self._link = Link(instance.server, block + instance.settings.call_timeout)
        self._patience = Patience(name, instance.outage)
        self._asked = threading.Event()
        self._ended = False
        self.is_waiting = False
        self.thread = threading.Thread(target=instance.guard(self._wait), name=name, daemon=True)

    def ask(self) -> None:
        """Wait for the next token."""
        self._asked.set()

    def no_more(self) -> None:
        """Wait for no other, if one comes now."""
        self._asked.clear()

    def interrupt(self) -> None:
        """Wait on a new connection."""
        if self.is_waiting:
            self._link.interrupt()

    def end(self) -> None:
        self._ended = True
        self._asked.set()
        self.interrupt()

    def hang_up(self, until: float) -> None:
        """End, and leave no connection behind.

        Args:
            until: when to give up (monotonic).
        """
        self.end()
        self._link.hang_up(self.thread, until)

    def _is_asked(self) -> bool:
        """Wait until it is; False: it is over."""
        if not self._ended:
            self._asked.wait()
        return not self._ended

    def _wait(self) -> None:
        try:
            self._wait_while_asked()
        finally:
            self._link.close()

    def _wait_while_asked(self) -> None:
        while self._is_asked():
            self.is_waiting = True
            try:
                token = self._link.command("BLPOP", self._bell, self._block)
            except Unavailable as error:
                if not self._link.take_interruption():
                    time.sleep(self._patience.failed(error))
                continue
            finally:
                self.is_waiting = False
            self._patience.well()
            if token is not None:
                self._asked.clear()
                self._rung()
            elif not self._is_wanted():
                self._asked.clear()
                if self._is_wanted():  # since a moment ago, and asked for in between
                    self._asked.set()
