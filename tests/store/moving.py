"""A namespace with something of everything in it, and how it is moved from one server to another."""

import io
import json
from typing import Any

from soloist.archive.checking import check, read_header
from soloist.archive.restoring import import_into
from soloist.archive.writing import export, look
from soloist.store import agenda, control, submissions
from soloist.store.envelope import pack
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.submissions import SpecialMessage, SubmitCall
from tests.servers import Store
from tests.store.acting import Instance, dies, ids
from tests.store.state import check_equation, now_ms
from tests.turns import Done

KINDS = ("default", "mail")
BINARY = bytes(range(256))
IN_AN_HOUR = 3_600_000


def something_of_everything(store: Store) -> None:
    """All that an export must take along; nobody is present afterwards."""
    generator, judge = Instance(store, kinds=KINDS), Instance(store, kinds=KINDS)
    generator.join()
    generator.beat()
    generator.send_page(generator.page({"default": 9, "mail": 2}, cursor='{"row": "ä"}', tick=now_ms(store)))
    generator.next(failed=ids(generator.next(want=1)))
    generator.next(completed=ids(generator.next(want=1)))
    _again_suspect_and_delayed(store, generator, judge)
    _submitted(store)
    control.pause(store.link, store.keys, ["mail"], ["source:outbox", "schedule:nightly"], on=True)
    for instance in (generator, judge):
        instance.leave(KINDS)
    check_equation(store)


def _again_suspect_and_delayed(store: Store, generator: Instance, judge: Instance) -> None:
    """One message died twice with its handler, another once, the third is tried again in an hour."""
    judge.join()
    for _ in range(store.settings.max_attempts - 1):
        victim = Instance(store, kinds=KINDS)
        victim.join()
        victim.next(want=1)
        dies(victim, judge, KINDS)
    victim = Instance(store, kinds=KINDS)
    victim.join()
    victim.next(want=1)
    dies(victim, judge, KINDS)
    (ident,) = ids(generator.next(want=1, kind="mail"))
    generator.next_of({"mail": Done(retried=[(ident, IN_AN_HOUR)])})


def _submitted(store: Store) -> None:
    """A unique message, a run of a schedule, a delayed one, and one that is no text and has a key."""
    agenda.put_schedule(store.link, store.keys, "nightly", b'{"name":"nightly","cron":"0 3 * * *","tz":"UTC"}')
    submissions.enlist(store.link, store.keys, "eve", "demo")
    envelopes = [
        pack("1-eve", "mail", 5, b"one of a key"),
        pack("2-eve", "mail", 6, b"a run"),
        pack("3-eve", "mail", 7, b"later"),
        pack("4-eve", "mail", 8, BINARY, key="a key with \N{SNOWMAN}".encode(), headers=b'{"trace": "x"}'),
        pack("5-eve", "mail", 9, "text with \N{SNOWMAN}, \n and \x1b".encode()),
    ]
    specials = [
        SpecialMessage(1, waits="unique one two"),
        SpecialMessage(2, waits="run nightly"),
        SpecialMessage(3, delay_ms=IN_AN_HOUR),
    ]
    submissions.submit(store.link, store.keys, "eve", 100, SubmitCall(1, {"mail": envelopes}, specials))


def exported(link: Link, keys: Keys) -> str:
    return "".join(export(link, keys, look(link, keys)))


def imported(link: Link, keys: Keys, text: str | bytes) -> None:
    """As the command does it."""
    file = io.BytesIO(text.encode() if isinstance(text, str) else text)
    read_header(file, "it")
    file.seek(0)
    checked = check(file, "it")
    file.seek(0)
    import_into(link, keys, file, "it", checked)


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def but_for_the_header(text: str) -> list[str]:
    """The time of the export and the name of the namespace stand there alone."""
    return text.splitlines()[1:]
