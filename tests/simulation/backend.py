"""The real server behind the simulated network: real scripts on real data, by the history's own clock.

Three things of it are not left to real time. The scripts read the clock from a key; who waits at a bell waits here, and is
served right behind the script that rang; and subscriptions begin and end at once, all on one real connection.
"""

import hashlib
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import hiredis
from redis._parsers.base import BaseParser  # how the client library reads an error
from redis.connection import parse_url

from soloist.store.agenda import AGENDA, DECLARE
from soloist.store.history import SAMPLE
from soloist.store.report import REPORT
from soloist.store.script import Script
from soloist.store.submissions import ENLIST, SUBMIT
from tests.model.watching import SCRIPTS as TALKING

if TYPE_CHECKING:
    from tests.simulation.network import Stream

DATABASE = 9
"""Of our own, on a server that other tests use as well: it is emptied before each history."""

CLOCK_KEY = "simulation:clock"
READ_CLOCK = "local clock = redis.call('TIME')\nlocal now_us = clock[1] * 1000000 + clock[2]\n"
READ_KEY = f"local now_us = tonumber(redis.call('GET', '{CLOCK_KEY}'))\n"
SCRIPTS = (*TALKING, SAMPLE, REPORT, AGENDA, DECLARE, ENLIST, SUBMIT)
READ = 2**18

Watch = Callable[[str, list[bytes], Any], None]
"""Told of every script that was carried out: its name, all words of the call, its answer."""


@contextmanager
def by_virtual_time(mutated: Mapping[Script, str] | None = None) -> Iterator[None]:
    """All scripts read the simulated clock.

    Args:
        mutated: text of scripts that are broken on purpose.
    """
    before = {script: (script.text, script.sha) for script in SCRIPTS}
    for script in SCRIPTS:
        text = (mutated or {}).get(script, script.text)
        script.text = text.replace(READ_CLOCK, READ_KEY)
        script.sha = hashlib.sha1(script.text.encode(), usedforsecurity=False).hexdigest()
    try:
        yield
    finally:
        for script, (text, sha) in before.items():
            script.text, script.sha = text, sha


class Wire:
    """One real connection with nothing around it."""

    def __init__(self, url: str) -> None:
        where = parse_url(url)
        self._socket = socket.create_connection((where["host"], where["port"]))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replies = hiredis.Reader(replyError=BaseParser.parse_error)

    def send(self, *packed: bytes) -> list[Any]:
        """Several commands at once, and all their answers; an error is an answer."""
        self._socket.sendall(b"".join(packed))
        answers: list[Any] = []
        while len(answers) < len(packed):
            answer = self._replies.gets()
            if answer is False:
                self._replies.feed(self._socket.recv(READ))
            else:
                answers.append(answer)
        return answers

    def command(self, *words: str | bytes | int) -> Any:
        (answer,) = self.send(pack(*words))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self._socket.close()


def pack(*words: str | bytes | int) -> bytes:
    packed: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]  # typed as if it took one word
    return packed


def unpack(frame: bytes) -> list[bytes]:
    """The words of a packed command."""
    reader = hiredis.Reader()
    reader.feed(frame)
    words: list[bytes] = reader.gets()
    return words


class Backend:
    """One real server, for one history after another.

    Attributes:
        now_us: its clock.
        refuses: what it answers instead of carrying out scripts, if it does not; the names of those, empty: all.
        calls: how many scripts it has carried out.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._wire = Wire(url)
        self._wire.command("SELECT", DATABASE)
        self._subscribed = Wire(url)
        self._known: set[str] = set()

    def begin(self, watch: Watch) -> None:
        """A new history."""
        self._watch = watch
        self.now_us = 0
        self._clock_us = -1
        self.calls = 0
        self.refuses: tuple[str, frozenset[str]] | None = None
        self._bells: dict[bytes, deque[Stream]] = {}
        self._listeners: dict[bytes, int] = {}
        self._names = {script.sha.encode(): script.name for script in SCRIPTS}
        self._names |= {script.text.encode(): script.name for script in SCRIPTS}
        self._wire.command("FLUSHDB")
        for script in SCRIPTS:  # whatever was before: else a history would depend on those before it
            if script.sha not in self._known:
                self._wire.command("SCRIPT", "LOAD", script.text)
                self._known.add(script.sha)

    def end(self) -> None:
        for channel in list(self._listeners):
            self._subscribed.command("SUNSUBSCRIBE", channel)
        self._listeners.clear()
        self._bells.clear()

    def close(self) -> None:
        self._wire.close()
        self._subscribed.close()

    def ask(self, *words: str | bytes | int) -> Any:
        """A question of the stage's own."""
        return self._wire.command(*words)

    def name_of(self, words: list[bytes]) -> str:
        """The script that is called, or the command."""
        if words[0] in (b"EVALSHA", b"EVAL"):
            return self._names.get(words[1], "?")
        return words[0].decode()

    # What arrives.

    def run_script(self, frame: bytes, words: list[bytes]) -> Any:
        """Carry out a call of a script; its answer. Whoever waits at a bell that it rings is served."""
        name = self.name_of(words)
        if self.refuses is not None and (not self.refuses[1] or name in self.refuses[1]):
            return BaseParser.parse_error(self.refuses[0])
        self.now_us += 1
        waited_for = [bell for bell, waiting in self._bells.items() if waiting]
        sent = [] if self.now_us == self._clock_us else [pack("SET", CLOCK_KEY, self.now_us)]
        self._clock_us = self.now_us
        answers = self._wire.send(*sent, frame, *(pack("LPOP", bell) for bell in waited_for))
        answer = answers[len(sent)]
        if isinstance(answer, list):
            self.calls += 1
            self._watch(name, words, answer)
        for bell, token in zip(waited_for, answers[len(sent) + 1 :], strict=True):
            if token is not None:
                self._bells[bell].popleft().answer([bell, token])
        return answer

    def wait_at_bell(self, stream: "Stream", bell: bytes) -> Any:
        """The token, if there is one; else None, and the stream waits."""
        (token,) = self._wire.send(pack("LPOP", bell))
        if token is not None:
            return [bell, token]
        self._bells.setdefault(bell, deque()).append(stream)
        return None

    def leave_bell(self, stream: "Stream") -> bool:
        """It waits no more; True if it did."""
        for waiting in self._bells.values():
            if stream in waiting:
                waiting.remove(stream)
                return True
        return False

    def subscribe(self, channel: bytes) -> None:
        self._listeners[channel] = self._listeners.get(channel, 0) + 1
        if self._listeners[channel] == 1:
            self._subscribed.command("SSUBSCRIBE", channel)

    def unsubscribe(self, channel: bytes) -> None:
        self._listeners[channel] -= 1
        if self._listeners[channel] == 0:
            del self._listeners[channel]
            self._subscribed.command("SUNSUBSCRIBE", channel)

    def listens(self, channel: bytes) -> bool:
        """Whether somebody is subscribed to it."""
        return channel in self._listeners

    def forget_scripts(self) -> None:
        self._wire.command("SCRIPT", "FLUSH", "SYNC")
        self._known.clear()
