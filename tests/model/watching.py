"""A link that reads, in the same round trip as every script, the state that the script left; and hears every word."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from redis.exceptions import NoScriptError, RedisError

from soloist.errors import Defect
from soloist.store.control import HANDOVER, PAUSE
from soloist.store.link import Link
from soloist.store.messages import NEXT, PUBLISH
from soloist.store.presence import BEAT, JOIN, LEAVE, RECLAIM
from soloist.store.records import CONFIRM, DISCARD, DRAIN, REQUEUE
from soloist.store.server import Server
from soloist.store.snapshot import PURGE, SNAPSHOT
from tests.model.state import READ, State, parse

SCRIPTS = (
    JOIN, BEAT, LEAVE, RECLAIM, PUBLISH, NEXT, DRAIN, CONFIRM, REQUEUE, DISCARD, PAUSE, HANDOVER, SNAPSHOT, PURGE
)  # fmt: skip
"""All that a history calls."""


MOST_ROUNDS = 4
"""How often one call may ask its script: once, and again with each kind that it was told; `status` alike."""


class WatchingLink(Link):
    """Attributes: words, how often each script answered each word; word, the last of them."""

    def __init__(self, server: Server, base: str) -> None:
        super().__init__(server, timeout=5)
        self._base = base
        self._names: dict[str, str] = {}
        self._look = b""
        self._seen: list[Any] = []
        self.words: Counter[tuple[str, str]] = Counter()
        self.word = ""
        self._asked = 0

    def begin(self) -> None:
        """A new call: whoever is told kinds asks again, but not for ever."""
        self._asked = 0

    def begin_script(
        self, sha: str, text: str, keys: Sequence[str], args: Sequence[str | bytes | int]
    ) -> Callable[[], list[Any]]:
        return lambda: self._script(sha, text, keys, args)

    def _script(self, sha: str, text: str, keys: Sequence[str], args: Sequence[str | bytes | int]) -> list[Any]:
        """The script, and READ right behind it."""
        self._asked += 1
        if self._asked > MOST_ROUNDS:
            raise Defect(f"asked {self._asked} times, and it still says {self.word}")
        if not self._look:
            self.command("SCRIPT", "LOAD", READ)
            digest = hashlib.sha1(READ.encode(), usedforsecurity=False).hexdigest()
            self._look = b"".join(self._connection.pack_command("EVALSHA", digest, 0, self._base))
        call = b"".join(self._connection.pack_command("EVALSHA", sha, len(keys), *keys, *args))
        self._connection.send_packed_command([call + self._look])
        try:
            reply: list[Any] = self._connection.read_response()
        except NoScriptError:
            self._connection.read_response()
            self.command("SCRIPT", "LOAD", text)
            return self._script(sha, text, keys, args)
        except RedisError as error:
            raise self._failed(error) from error
        self._seen = self._connection.read_response()
        self._hears(sha, reply)
        return reply

    def _hears(self, sha: str, reply: list[Any]) -> None:
        if sha not in self._names:
            self._names = {script.sha: script.name for script in SCRIPTS}
        name, self.word = self._names[sha], reply[0].decode()
        if name == "beat" and self.word == "OK":
            self.words[name, f"OK {reply[2].decode()}"] += 1
        elif name == "next" and self.word == "OK":
            self.words[name, "OK hold"] += bool(reply[4])
            self.words[name, "OK refused"] += bool(reply[5])
        elif reply[1:] == [b"term"]:
            self.word = "SUPERSEDED term"
        self.words[name, self.word] += 1

    def seen(self) -> State:
        """What the last script left."""
        return parse(self._seen)

    def look(self) -> State:
        """What is stored now."""
        return parse(self.command("EVAL", READ, 0, self._base))
