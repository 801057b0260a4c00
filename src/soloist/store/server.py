"""Where the server is, said without its password, and what an answer of the client library means."""

import re
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from redis import exceptions
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection, parse_url
from redis.retry import Retry

from soloist.errors import Defect, Denied, Forbidden, ForeignData, SoloistError, Unavailable, UnfitServer, UsageError

NOT_NOW = (
    "LOADING",
    "READONLY",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "BUSY",
    "UNBLOCKED",
)
"""What a server says that will be well again by itself, or once somebody mends it."""

WHERE_IT_GOES = "A password goes into --url redis://:PASSWORD@HOST:PORT or SOLOIST_URL."

PASSWORDS = {
    "without any password configured": "it wants no password, but one is given. Leave it out of --url or SOLOIST_URL.",
    "invalid username-password": "user or password is wrong. Mend them in --url or SOLOIST_URL.",
}
"""A part of what a server or the client library says of a password, and what it means to the person who gave it."""

NEW_ENOUGH = "Use Redis 7.0 or newer, or Valkey 8 or newer."

NOT_OURS = ("WRONGTYPE", "ERR hash value is not an integer")
"""What it says of a key that somebody else has written."""

CONNECTING = re.compile(r"^Error -?\d+ connecting to .*?\. (?=[A-Z])")
"""What the client library says before the reason, and we have said already."""

NOT_NOW_ERRORS = (
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
    exceptions.MasterDownError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
)
"""The same, where the client library takes the word off and makes it a class."""


class Server:
    """One server (or later a group of them), and how to make connections to it.

    Args:
        url: redis://, rediss:// or unix://.
        recover: called when a connection is refused; answers the URL to use from then on. The embedded server's.
        where: what named it, for the message about a URL that cannot be read.
    """

    def __init__(self, url: str, recover: Callable[[], str] | None = None, where: str = "--url") -> None:
        self._recover = recover
        self._recovering = threading.Lock()
        self._use(url, where)

    def _use(self, url: str, where: str = "--url") -> None:
        try:
            options: dict[str, Any] = parse_url(url)
            parts = urlsplit(url)
            path = parts.path.strip("/")
            if parts.scheme != "unix" and path and not path.isdigit():
                raise ValueError(f"the database must be a number, not {path!r}")
            self._kind = options.pop("connection_class", Connection)
            self._options = options
            self.connection(1.0)  # refuses options that the client does not know
        except (ValueError, TypeError) as wrong:
            # The parser takes a password with / # or ? in it for a port or a path, and quotes it.
            why = "it cannot be read" if "@" in url else str(wrong).rstrip(".")
            raise UsageError(
                f"{where}: {why}. Write redis://[user:password@]HOST:PORT/DB, rediss:// or unix://; in a password "
                f"/ # ? @ as %2F %23 %3F %40."
            ) from None
        self.url = url

    def __str__(self) -> str:
        options = self._options
        if self._kind is UnixDomainSocketConnection:
            where = f"unix:{options.get('path', '')}"
        else:
            where = f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return where + (f" database {options['db']}" if options.get("db") else "")

    @property
    def uses_tls(self) -> bool:
        return bool(issubclass(self._kind, SSLConnection))

    def connection(self, timeout: float) -> Connection:
        """A connection of its own, never pooled, that repeats nothing by itself."""
        options = {
            "socket_timeout": timeout,
            "socket_connect_timeout": min(timeout, 2.0),
            "socket_keepalive": True,
            **self._options,
            "protocol": 2,
            "retry": Retry(NoBackoff(), 0),
            "health_check_interval": 0,
        }
        if self._kind is UnixDomainSocketConnection:
            del options["socket_keepalive"]
        made: Connection = self._kind(**options)
        return made

    def connect(self, connection: Connection) -> None:
        """Make one of its connections."""
        connection.connect()

    def recover(self) -> bool:
        """Bring the server back if that is in our hands; True if a new attempt is worth it."""
        if self._recover is None:
            return False
        with self._recovering:
            self._use(self._recover())
        return True

    def meaning(self, error: Exception, *, connecting: bool = False) -> SoloistError:
        """What an error of the client library means to us. Never contains the password.

        Args:
            error: what it raised.
            connecting: it was raised while the connection was made, so nothing of ours was carried out.
        """
        text = str(error)
        if isinstance(error, NOT_NOW_ERRORS) or text.split(" ", 1)[0] in NOT_NOW:
            return Unavailable(f"{self} is not ready: {text}", refused=True)
        if text.startswith(NOT_OURS):
            return ForeignData(f"{self}: a key of this namespace was written by somebody else: {text}")
        if isinstance(error, exceptions.AskError):  # also MOVED
            return UnfitServer(f"{self} is a node of a Cluster, which is not supported yet. Name a single server.")
        if "Error compiling script" in text:
            return UnfitServer(f"{self} cannot read our scripts: it is too old. {NEW_ENOUGH}")
        not_allowed = isinstance(error, exceptions.NoPermissionError) or "ACL failure in script" in text
        if isinstance(error, exceptions.AuthenticationError) or "unauthenticated" in text:
            why = next(
                (says for part, says in PASSWORDS.items() if part in text), f"{text.rstrip('.')}. {WHERE_IT_GOES}"
            )
            return Forbidden(f"{self} refuses us: {why}")
        if not_allowed:
            return Denied(f"{self} refuses us: {text}")
        if isinstance(error, exceptions.TimeoutError):
            return Unavailable(f"{self} does not answer")
        if isinstance(error, exceptions.ResponseError) and connecting:
            database = " Name another with --db, or at the end of --url." if "DB index" in text else ""
            return Forbidden(f"{self} refuses us: {text.rstrip('.')}.{database}")
        if isinstance(error, exceptions.ConnectionError | OSError):
            return Unavailable(f"{self} cannot be reached: {CONNECTING.sub('', text).rstrip('.')}")
        return Defect(f"{self} answered: {text}")
