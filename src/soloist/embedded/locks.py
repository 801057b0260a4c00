"""Locks that the kernel releases when their holder dies, however it dies.

flock, not fcntl record locks: those are lost when *any* descriptor of the file is closed in the process, and a server
cannot inherit them. A flock belongs to the open file description, which a forked child shares; a child that lived on
would keep its dead parent's lock. So every lock held by this process is closed in forked children.

Waiting is done by trying again, never inside flock(): a wait needs a deadline, and a signal must be able to end it.
"""

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Self

RETRY_S = 0.01

_guard = threading.Lock()
"""Held while a descriptor is opened and noted, and during a fork: a child knows of every one that it has."""
_held: "set[FileLock]" = set()


class FileLock:
    """A lock that this process holds until `release()` or its death. Forked children do not hold it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def attempt(cls, path: Path, *, shared: bool = False) -> Self | None:
        """Take the lock if that is possible now."""
        with _guard:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            lock = cls(descriptor)
            try:
                if _flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
                    _held.add(lock)
                    return lock
            finally:
                if lock not in _held:
                    os.close(descriptor)
        return None

    @classmethod
    def wait(cls, path: Path, *, until: float, shared: bool = False) -> Self | None:
        """Take the lock, or return None when it is `until` on the monotonic clock."""
        while (lock := cls.attempt(path, shared=shared)) is None:
            if time.monotonic() >= until:
                return None
            time.sleep(RETRY_S)
        return lock

    @property
    def held(self) -> bool:
        """Whether this process still holds it: false after release and in a forked child."""
        return self in _held

    def guards(self, path: Path) -> bool:
        """Whether this is still the lock at that path: false when the file was removed or made anew."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), path.stat())
        except OSError:
            return False

    def release(self) -> None:
        with _guard:
            if self in _held:
                _held.discard(self)
                os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_held(path: Path) -> bool:
    """Whether anybody holds the lock exclusively."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _drop_in_child() -> None:
    for lock in _held:
        os.close(lock.descriptor)
    _held.clear()
    _guard.release()


os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_drop_in_child)
