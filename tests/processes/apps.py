"""Apps for the tests beside this file. Each writes what it does into a ledger and is steered by files in a folder.

(The instances share nothing but Redis; the folder is the test's own eye and hand.)
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from soloist import App, Message, Msg, Page, Reject, Source

FOLDER = Path(os.environ.get("FOLDER", "."))


def note(*words: object) -> None:
    """One line in the ledger, whole, whoever else writes."""
    line = " ".join(map(str, (*words, os.getpid()))) + "\n"
    descriptor = os.open(FOLDER / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def number_of(message: Message) -> int:
    return int(message.id.split("-")[0])


def wait_for(name: str) -> None:
    """Until the test makes this file. Sleeping does not hold the interpreter lock."""
    while not (FOLDER / name).exists():
        time.sleep(0.005)


gated = App("gated", generator_handles=False)
"""Message 3 is worked on until the file `gate` is there."""


@gated.generator(every=0.02)
def tick() -> str:
    return "tick"


@gated.handler
def work(message: Message) -> None:
    note("began", number_of(message), message.attempt)
    if number_of(message) == 3:
        wait_for("gate")
    note("ended", number_of(message), message.attempt)


talkative = App("talkative")
"""Prints in every way there is, also while it is imported if it is told to."""

talkative.generator(every=0.02)(tick)

if "TALK" in os.environ:
    print("said by the module")


@talkative.handler
def talk(message: Message) -> None:
    print("said by print", message.id)
    os.write(1, b"said past Python\n")
    if number_of(message) == 1:
        subprocess.run(["echo", "said by a program"], check=True)


poisonous = App("poisonous", generator_handles=False)
"""Whoever handles message 5 dies of it."""

poisonous.generator(every=0.01)(tick)


@poisonous.handler
def taste(message: Message) -> None:
    if number_of(message) == 5:
        note("died", number_of(message), message.attempt)
        os.kill(os.getpid(), signal.SIGKILL)


locking = App("locking", generator_handles=False)
"""The first attempt at message 3 holds the interpreter lock for seconds, in one call of `re`."""

locking.generator(every=0.02)(tick)


@locking.handler
def search(message: Message) -> None:
    note("began", number_of(message), message.attempt)
    if number_of(message) == 3 and message.attempt == 1:
        backtrack_for(float(os.environ["LOCK_SECONDS"]))
        note("let_go", number_of(message), message.attempt)


def backtrack_for(seconds: float) -> None:
    """A catastrophic regular expression, sized by a small one: each letter doubles the time."""
    letters, begun = 20, time.thread_time()
    re.match(r"(a+)+$", "a" * letters + "b")
    once = time.thread_time() - begun  # of the processor: a busy machine must not make it seem longer
    while once < seconds:
        once, letters = once * 2, letters + 1
    re.match(r"(a+)+$", "a" * letters + "b")


forking = App("forking", generator_handles=False)
"""Message 1 leaves a forked child behind that outlives its parent; that of message 2 returns from the handler."""

forking.generator(every=0.02)(tick)


@forking.handler
def fork(message: Message) -> None:
    if number_of(message) == 1:
        child = os.fork()
        if child == 0:
            wait_for("gate")
            os._exit(0)
        note("forked", child)
    if number_of(message) == 2:
        child = os.fork()
        if child:
            note("returned", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


erring = App("erring")
"""Everybody handles, and every message fails: it ends in the error store under its number. One in five takes so long that
some always wait; while there is a file `hold`, each does."""


@erring.generator(every=0.005)
def draw() -> str:
    return "a lot"


@erring.handler
def reject(message: Message) -> None:
    while (FOLDER / "hold").exists():
        time.sleep(0.005)
    if number_of(message) % 5 == 0:
        time.sleep(0.06)
    raise Reject("as always")


rushing = App("rushing")
"""The same, but messages come in bursts, and are handled so quickly that the next batch is claimed ahead."""

drawn = count(1)


@rushing.generator(every=0)
def burst() -> str | None:
    if next(drawn) % 1500 == 0:
        time.sleep(0.4)
        return None
    return "a lot"


@rushing.handler
def refuse(_message: Message) -> None:
    raise Reject("as always")


crowded = App("crowded")
"""The same, two at a time: some wait behind those that take long."""

crowded.generator(every=0.005)(draw)


@crowded.handler(concurrency=2)
async def reject_beside_others(message: Message) -> None:
    if number_of(message) % 5 < 2:
        await asyncio.sleep(0.06)
    raise Reject("as always")


batched = App("batched")
"""The same, five at once."""

batched.generator(every=0.005)(draw)


@batched.handler(batch=5, linger=0.02)
def reject_all(messages: list[Message]) -> None:
    for message in messages:
        message.reject("as always")


summing = App("summing", generator_handles=False)
"""Numbers from 1 on until there is a file `enough`; each handler adds them up in Redis, along with its messages."""

SUMMED = ("inline", "tasks", "batches")


@summing.source(every=0.01)
def numbers(source: Source[None, int]) -> Page[int] | None:
    done = source.cursor or 0
    if (FOLDER / "enough").exists():
        return None
    return Page([Msg(SUMMED[number % 3], str(number)) for number in range(done + 1, done + 6)], cursor=done + 5)


def add(message: Message) -> None:
    message.commit.incrby(message.key_for("sum"), int(message.body))


@summing.handler("inline")
def add_one(message: Message) -> None:
    add(message)
    time.sleep(0.002)


@summing.handler("tasks", concurrency=5)
async def add_beside_others(message: Message) -> None:
    add(message)
    await asyncio.sleep(0.01)


@summing.handler("batches", batch=10, linger=0.02)
def add_many(messages: list[Message]) -> None:
    for message in messages:
        add(message)
    time.sleep(0.01)


healing = App("healing", generator_handles=False)
"""The first attempt raises, the second ends its process, the third works."""


@healing.source(every=0.01)
def patients(source: Source[None, int]) -> Page[int] | None:
    return None if source.cursor else Page([Msg("patient", "one")], cursor=1)


@healing.handler("patient", retries=1, backoff=0.01)
def heal(message: Message) -> None:
    note("attempt", message.body, message.attempt)
    if message.attempt == 1:
        raise RuntimeError("not at once")
    if message.attempt == 2:
        os.kill(os.getpid(), signal.SIGKILL)


deadly = App("deadly", generator_handles=False)
"""Steady work of three kinds, handled one by one, side by side and in batches. Whoever handles number 20, 21 or 22, one of
each kind, ends at once."""

DEADLY = ("inline", "tasks", "batches")


@deadly.source(every=0.01)
def doses(source: Source[None, int]) -> Page[int] | None:
    done = source.cursor or 0
    if (FOLDER / "enough").exists():
        return None
    return Page([Msg(DEADLY[number % 3], str(number)) for number in range(done + 1, done + 4)], cursor=done + 3)


def swallow(message: Message) -> None:
    if 20 <= int(message.body) <= 22:
        note("died", message.body, message.attempt)
        os._exit(1)


@deadly.handler("inline")
def swallow_one(message: Message) -> None:
    swallow(message)
    time.sleep(0.005)


@deadly.handler("tasks", concurrency=5)
async def swallow_beside_others(message: Message) -> None:
    await asyncio.sleep(0.02)  # there are always some in hand
    swallow(message)


@deadly.handler("batches", batch=5, linger=0.02)
def swallow_many(messages: list[Message]) -> None:
    time.sleep(0.01)
    for message in messages:
        swallow(message)


slow = App("slow", generator_handles=False)
"""There is always a message in hand."""

slow.generator(every=0.05)(tick)


@slow.handler
def take_time(_message: Message) -> None:
    time.sleep(0.3)


raising = App("raising", generator_handles=False)
"""Handlers and sources raise what they should not."""


class Speechless(Exception):
    """An exception that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")


@raising.generator(every=0.02)
def exits_now_and_then() -> str:
    if not (FOLDER / "exited").exists():
        (FOLDER / "exited").touch()
        sys.exit("a source must not")
    return "tick"


@raising.handler
def raises(message: Message) -> None:
    problems: dict[int, BaseException] = {
        1: Speechless(),
        2: asyncio.CancelledError(),
        3: SystemExit(3),
        4: KeyboardInterrupt(),
        5: ValueError("\udcff is no text"),
    }
    problem = problems.get(number_of(message))
    if problem is not None:
        raise problem


lame = App("lame", generator_handles=False)
"""Its source fails while there is a file `fail`, and does not return while there is a file `hang`."""


@lame.generator(every=0.05)
def limp() -> str:
    if (FOLDER / "fail").exists():
        raise ValueError("no more today")
    while (FOLDER / "hang").exists():
        time.sleep(0.005)
    return "tick"


@lame.handler
def accept(_message: Message) -> None:
    pass
