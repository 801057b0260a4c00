"""Every error that soloist raises, each a sentence with its remedy.

SoloistError                     exit code
├── UsageError                   2    a wrong option, setting or target; a wrong call of ours in a user's function
│   ├── CommandNotAllowed        2    … message.commit has no such command
│   └── NamespaceError           2    the namespace belongs to another App or protocol
│       └── ForeignData          2    … or to somebody else altogether: a key in it is not ours
├── ServerError                  3    the server cannot be reached or refuses us
│   ├── Unavailable              3    … at this moment; after the start it is simply tried again
│   │   └── Forbidden            3    … password or database
│   │       └── Denied           3    … a permission
│   ├── UnfitServer              3    … for good: too old, evicting, read-only
│   ├── NotPublished             3    … app.publish was given up
│   └── EmbeddedServerError      3    the embedded server cannot be started
├── Stuck                        1    a handler hangs: this process has to be started anew
├── OutputError                  4    the output cannot be written
└── Defect                       70   a mistake of ours

Reject                           raised by a handler: this message is erroneous
Retry                            raised by a handler: not now, once more later
"""

import math
from collections.abc import Sequence


class SoloistError(Exception):
    """Base of all. The message is meant for the person at the terminal."""

    exit_code = 70


class UsageError(SoloistError):
    """A wrong option, setting or target; the message names it and the allowed range."""

    exit_code = 2


class CommandNotAllowed(UsageError, AttributeError):
    """`message.commit` has no such command; the message lists those that it has."""


class NamespaceError(UsageError):
    """The namespace belongs to another App, or speaks another version of the protocol."""


class ForeignData(NamespaceError):
    """What stands under a key of ours was written by somebody else. Nothing of it was changed.

    Attributes:
        key: which one; empty if that is not known yet.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class ServerError(SoloistError):
    """The server cannot be reached, or refuses us."""

    exit_code = 3


class Unavailable(ServerError):
    """No answer that could be relied on: whether the call was carried out is unknown.

    Attributes:
        refused: True when the server itself said that it would not carry it out now.
        sent: False when no connection could be made, so that nothing was carried out either.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        self.sent = True


class Forbidden(Unavailable):
    """Wrong password or database, or a permission is missing. Somebody may mend it: after the start it is tried again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, refused=True)


class Denied(Forbidden):
    """The password is right, but a permission is missing."""


class UnfitServer(ServerError):
    """The server works, but not for us; the message says what to change."""


class NotPublished(ServerError):
    """Messages could not be published: no answer in time, or too many wait.

    Attributes:
        published: the ids of those before them that are published.
        is_undecided: nobody knows whether the next of them (up to a page) are; to publish them again may double them.
    """

    def __init__(self, message: str, published: Sequence[str] = (), *, is_undecided: bool = False) -> None:
        super().__init__(message)
        self.published = list(published)
        self.is_undecided = is_undecided


class EmbeddedServerError(ServerError):
    """The embedded server cannot be found or started."""


class Stuck(SoloistError):
    """A handler did not come back in its time. Its thread cannot be ended, so the instance has left: start a new process."""

    exit_code = 1


class OutputError(SoloistError):
    """What was to be printed could not be written: disk full, closed."""

    exit_code = 4


class Defect(SoloistError):
    """Something that cannot happen, happened."""


LONGEST_DELAY = 10 * 366 * 86_400
"""Seconds: beyond it somebody has probably taken milliseconds for seconds."""


def is_number(value: object) -> bool:
    """Whatever the types say: a user's function need not be checked."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_text(value: object) -> bool:
    """Likewise."""
    return isinstance(value, str)


def delay_ms(seconds: float) -> int:
    """So many whole milliseconds, never less.

    Raises:
        UsageError: that is no time to wait.
    """
    if not is_number(seconds) or not 0 <= seconds <= LONGEST_DELAY:
        raise UsageError(f"{seconds!r} is no time to wait: write seconds from 0 to {LONGEST_DELAY:,} (ten years)")
    return math.ceil(seconds * 1000)


class Reject(Exception):
    """Raised by a handler: this message is erroneous. It goes to the error store with this reason."""


class Retry(Exception):
    """Raised by a handler: not now. The message is handled once more, by any instance, not before `after` seconds are over.

    Nothing of what it asked to be written or published is, and nothing comes into the error store. It is no death.

    Args:
        reason: for the log.
        after: seconds, from 0 to ten years.

    Attributes:
        after_ms: the same in milliseconds, never less.
    """

    after_ms = 0  # also of a class of the user's that does not begin as this one does

    def __init__(self, reason: str = "", *, after: float = 0.0) -> None:
        super().__init__(reason)
        try:
            self.after_ms = delay_ms(after)
        except UsageError as error:
            raise UsageError(f"raise Retry(after=…): {error}") from None
        self.after = after
