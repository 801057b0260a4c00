"""Something that listens where a server is expected: silent, a stranger, or a server that we cannot have here for real."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, Self, TypeAlias

Behaviour: TypeAlias = Callable[[socket.socket], None]
"""What it does with a connection, on a thread of its own, until that is closed."""


class Impostor:
    """Listens on a loopback port as long as the context lasts."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            self._behaviour(connection)


def speaks_http(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>")


def greets_like_ssh(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    connection.recv(1000)


def rings_the_terminal_bell(connection: socket.socket) -> None:
    """What it says must not reach a terminal as it is."""
    while connection.recv(1000):
        connection.sendall(b"-ERR \x1b]0;owned\x07\x1b[2J\r\n")


def hangs_up(connection: socket.socket) -> None:
    connection.recv(1000)


def says_nothing(connection: socket.socket) -> None:
    while connection.recv(1000):
        pass


def drips(connection: socket.socket) -> None:
    """A letter now and then, so that no single wait is too long, and never the end of a line."""
    over = threading.Event()
    while True:
        connection.sendall(b"+")
        over.wait(0.2)


def a_server(about: str | None) -> Behaviour:
    """Speaks the protocol, lets everybody in, and says this of itself in INFO; but it runs no script of ours.

    Args:
        about: fields of INFO, separated by blanks; None where INFO is forbidden.
    """
    told = "".join(f"{line}\r\n" for line in (about or "").split()).encode()
    forbidden = b"-NOPERM this user has no permissions to run the 'info' command\r\n"
    answers = {
        b"INFO": forbidden if about is None else b"$%d\r\n%s\r\n" % (len(told), told),
        b"TIME": b"*2\r\n$10\r\n1794815058\r\n$6\r\n123456\r\n",
        b"EVALSHA": b"-NOSCRIPT No matching script. Please use EVAL.\r\n",
        b"EVAL": b"-ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'\r\n",
        b"HGET": b"$-1\r\n",
    }

    def serve(connection: socket.socket) -> None:
        with connection.makefile("rb") as received:
            for words in _commands(received):
                connection.sendall(answers.get(words[0].upper(), b"+OK\r\n"))

    return serve


def _commands(received: BinaryIO) -> Iterator[list[bytes]]:
    while header := received.readline():
        words = []
        for _ in range(int(header[1:])):
            length = int(received.readline()[1:])
            words.append(received.read(length))
            received.readline()
        yield words
