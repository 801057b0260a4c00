"""A port for a server of one's own."""

import random
import socket
from contextlib import closing, suppress


def free_port() -> int:
    """A free port below those that the kernel gives to clients: one of those would find itself, the server being down."""
    while True:
        port = random.randrange(10_000, 32_000)
        with suppress(OSError), closing(socket.socket()) as trial:
            trial.bind(("127.0.0.1", port))
            return port
