"""Asking a server, over its port and with its password, how it is.

A plain socket and two inline commands: this must work in the supervisor and in `soloist server status` without paying
for the import of a client (150 ms). The password is the proof of identity: a port number in a file may have passed to
a stranger since, but only our server takes our password.
"""

import socket
from contextlib import suppress
from enum import StrEnum
from typing import BinaryIO

TIMEOUT_S = 1.0


class Answer(StrEnum):
    """How a server answered."""

    READY = "ready"
    LOADING = "loading"  # it reads its data and takes no commands yet
    SILENT = "silent"  # the port is open but nothing comes: frozen, or busy with a long script
    ABSENT = "absent"  # refused, or somebody else's server


def ping(port: int, password: str, within: float = TIMEOUT_S) -> Answer:
    try:
        reply = _ask(port, password, b"PING", within)
    except TimeoutError:
        return Answer.SILENT
    except OSError:
        return Answer.ABSENT
    if reply.startswith(b"-LOADING"):
        return Answer.LOADING
    if reply.startswith(b"-BUSY"):
        return Answer.SILENT
    # Its disk is full: it took our password, and can be read. Whoever wants to write is told by the server itself.
    return Answer.READY if reply == b"+PONG" or reply.startswith(b"-MISCONF") else Answer.ABSENT


def version(port: int, password: str) -> str:
    """Kind and version, such as "valkey 9.1.2": Valkey also gives a `redis_version`, the one it is compatible with."""
    reply = _ask(port, password, b"INFO server", TIMEOUT_S).decode()
    fields = dict(line.split(":", 1) for line in reply.splitlines() if ":" in line)
    if "valkey_version" in fields:
        return f"valkey {fields['valkey_version']}"
    return f"redis {fields.get('redis_version', 'of unknown version')}"


def shut_down(port: int, password: str) -> None:
    """Ask the server to end in order; whether it does shows elsewhere (it hangs up instead of answering)."""
    with suppress(OSError):
        _ask(port, password, b"SHUTDOWN", TIMEOUT_S)


def _ask(port: int, password: str, command: bytes, within: float) -> bytes:
    """Send one command; return its reply without the line end, b"" when the server hung up after the password."""
    with socket.create_connection(("127.0.0.1", port), within) as connection, connection.makefile("rb") as replies:
        connection.sendall(b"AUTH %s\r\n%s\r\n" % (password.encode(), command))
        greeting = replies.readline()
        if not greeting.startswith(b"+OK"):
            raise ConnectionRefusedError(f"port {port} belongs to somebody else: {greeting!r}")
        return _reply(replies)


def _reply(replies: BinaryIO) -> bytes:
    line = replies.readline().rstrip(b"\r\n")
    if line.startswith(b"$"):
        return replies.read(int(line[1:]))
    return line
