"""A link that any thread may use: a test has threads of its own, and handlers may call the system in which they run."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from soloist.store.link import Link
from soloist.store.server import Server


class SharedLink(Link):
    """One call at a time."""

    def __init__(self, server: Server, timeout: float) -> None:
        super().__init__(server, timeout)
        self._using = threading.Lock()

    def command(self, *words: str | bytes | float) -> Any:
        with self._using:
            return super().command(*words)

    def begin_script(
        self, sha: str, text: str, keys: Sequence[str], args: Sequence[str | bytes | int]
    ) -> Callable[[], list[Any]]:
        with self._using:
            answer = super().begin_script(sha, text, keys, args)()
        return lambda: answer
