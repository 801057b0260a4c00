"""A plain client that hides nothing."""

import socket
from typing import Any, Self

import hiredis


class Client:
    """Sends what it is told to and reads what comes, nothing by itself. Its parser is the client library's."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=30)
        self._reader = hiredis.Reader()

    def send(self, *commands: tuple[Any, ...]) -> Self:
        """All of these in one go."""
        self.socket.sendall(b"".join(hiredis.pack_command(command) for command in commands))
        return self

    def read(self) -> Any:
        """What comes next; EOFError if the connection is closed."""
        while (reply := self._reader.gets()) is False:
            data = self.socket.recv(2**20)
            if not data:
                raise EOFError
            self._reader.feed(data)
        return reply

    def ask(self, *words: Any) -> Any:
        return self.send(words).read()

    @property
    def is_still(self) -> bool:
        """Whether nothing has come, not even an end."""
        self.socket.setblocking(False)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return self._reader.has_data() is False
        else:
            return False
        finally:
            self.socket.settimeout(30)

    def hang_up(self) -> None:
        self.socket.close()


def names(client: Client, name: str) -> Client:
    """Give the connection a name by which the server lists it."""
    assert client.ask("CLIENT", "SETNAME", name) == b"OK"
    return client


def is_listed(direct: Client, name: str) -> bool:
    return f" name={name} " in direct.ask("CLIENT", "LIST").decode()
