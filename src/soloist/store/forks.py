"""Forked children: they must neither keep our sockets open nor speak in our name.

A child that kept the socket of the last will would make its dead parent seem alive. So a child closes every link; and
since a socket in the middle of connecting is known to nobody yet, no connection is made while the process is forked.
"""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

CONNECT_WAIT = 3.0
"""Seconds for which a fork waits for connections in the making: a little longer than one may take."""


class Abandonable(Protocol):
    """Something with a socket."""

    def abandon(self) -> None: ...


class _Gate:
    """Any number of threads connect at once; a fork waits for them, and they wait for a fork."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._connecting = 0
        self._forking = 0
        self.links: weakref.WeakSet[Abandonable] = weakref.WeakSet()

    @contextmanager
    def connecting(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._forking)
            self._connecting += 1
        try:
            yield
        finally:
            with self._changed:
                self._connecting -= 1
                self._changed.notify_all()

    def before_fork(self) -> None:
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: not self._connecting, timeout=CONNECT_WAIT)

    def after_in_parent(self) -> None:
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()

    def after_in_child(self) -> None:
        # Threads that held the lock or were connecting do not exist here.
        self._changed = threading.Condition()
        self._connecting = self._forking = 0
        for link in list(self.links):
            link.abandon()


gate = _Gate()
os.register_at_fork(before=gate.before_fork, after_in_parent=gate.after_in_parent, after_in_child=gate.after_in_child)
