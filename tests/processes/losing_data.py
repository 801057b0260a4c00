"""Lost replies of the scripts of schedules, of producers, and of those that move error records and whole namespaces."""

import json
from functools import partial

from soloist.chaos.faults import Fault
from soloist.chaos.rule import Rule
from soloist.error_store import ErrorStore
from soloist.runtime.incarnation import new_id
from soloist.store.agenda import put_schedule
from soloist.store.envelope import pack
from soloist.store.keys import Keys
from soloist.store.server import Server
from soloist.store.snapshot import purge
from soloist.store.submissions import SubmitCall, enlist, submit
from tests.processes.ensemble import (
    COPY,
    HASTY,
    IN_TIME,
    LATE,
    LEASES,
    LOST,
    SCRIPTS,
    UNKNOWN,
    Ensemble,
    arrives,
    number_of,
    one_for_each,
    wait_for_all,
)
from tests.processes.losing import case, repeat
from tests.waiting import wait_until

WAITING = 5500
"""Messages that are exported and imported: more than go in five steps."""


@case
def losing_agenda(ensemble: Ensemble) -> None:
    """It only reads; and no source is called before it is known."""
    rules = ensemble.harm(SCRIPTS["agenda"].sha, *UNKNOWN, IN_TIME)
    ensemble.hand_over()

    wait_for_all(rules)
    ensemble.wait_until_it_works_on()
    assert arrives(rules[COPY])[0] == b"OK"


@case
def losing_declare(ensemble: Ensemble) -> None:
    """Said again, it changes nothing more; what an older term's code declares is refused."""
    schedule = '{"name":"old","kind":"x","every_ms":9,"origin":"code"}'
    rules: dict[Fault, Rule] = {}
    for fault in (*UNKNOWN, IN_TIME):
        ensemble.link.command("HSET", ensemble.keys.schedules, "old", schedule)
        rules |= ensemble.harm(SCRIPTS["declare"].sha, fault)
        ensemble.hand_over()
        rules[fault].wait()
        wait_until(lambda: ensemble.link.command("HLEN", ensemble.keys.schedules) == 0, what="the code has its way")
        ensemble.wait_until_it_works_on()

    assert arrives(rules[COPY]) == [b"SUPERSEDED", b"term"]


@case
def losing_schedule(ensemble: Ensemble) -> None:
    """It is there or it is not, and saying it again makes it so. A late copy does what it was asked to."""
    words = ("schedules", "add", "it", "--every", "86400", "--kind", "default")

    rules = ensemble.lose(
        ensemble.harm(SCRIPTS["schedule"].sha, *UNKNOWN), one_for_each(partial(ensemble.run, *words, how=HASTY))
    )

    done = repeat(ensemble, "schedule", *words)
    assert (done.returncode, done.stdout) == (0, "it was scheduled so already\n")
    assert put_schedule(ensemble.link, ensemble.keys, "it", b"")
    assert arrives(rules[COPY]) == [b"OK", 1]
    assert put_schedule(ensemble.link, ensemble.keys, "it", b"")


@case
def losing_enlist(ensemble: Ensemble) -> None:
    """Never repeated: another id is tried, and publishes."""
    publish_one(ensemble, "enlist")


@case
def losing_submit(ensemble: Ensemble) -> None:
    """Repeated unchanged until the outcome is known, applied once."""
    publish_one(ensemble, "submit")


def publish_one(ensemble: Ensemble, name: str) -> None:
    rules = ensemble.harm(SCRIPTS[name].sha, *UNKNOWN, IN_TIME)

    done = ensemble.run("publish", "default", "from outside", *LEASES)

    assert done.returncode == 0, done.stderr
    wait_for_all(rules)
    assert arrives(rules[COPY])[0] == b"OK"
    ident = done.stdout.strip()
    wait_until(lambda: ensemble.times([ident])[ident] is not None, what="it has failed, as all do")
    ids = [each.decode() for each in ensemble.link.command("HKEYS", ensemble.keys.errors)]
    assert [each for each in ids if len(each.partition("-")[2]) == len(new_id())] == [ident]
    assert ErrorStore(Server(ensemble.near.url), ensemble.near.namespace).delete([ident]) == 1
    ensemble.from_outside += 1


@case
def losing_peek(ensemble: Ensemble) -> None:
    """It only reads."""
    command = partial(ensemble.run, "errors", "list", how=HASTY)

    ensemble.lose(ensemble.harm(SCRIPTS["peek"].sha, LOST, LATE), one_for_each(command))

    assert len(repeat(ensemble, "peek", "errors", "list").stdout.splitlines()) == 20


@case
def losing_inventory(ensemble: Ensemble) -> None:
    """It only reads; what is not complete is no file."""
    export(ensemble, "inventory")


@case
def losing_extract(ensemble: Ensemble) -> None:
    """The same."""
    export(ensemble, "extract")


def export(ensemble: Ensemble, name: str) -> None:
    namespace = filled(ensemble)
    path = ensemble.near.folder / f"{namespace}.jsonl"
    words = ("export", "--out", str(path))

    rules = ensemble.harm(SCRIPTS[name].sha, LOST, LATE)
    ensemble.lose(rules, one_for_each(partial(ensemble.run, *words, namespace=namespace, how=HASTY)))

    assert not path.exists()
    assert repeat(ensemble, name, *words, namespace=namespace).returncode == 0
    assert json.loads(path.read_text().splitlines()[-1])["messages"] == WAITING
    purge(ensemble.link, Keys(namespace))


@case
def losing_prepare(ensemble: Ensemble) -> None:
    """Until it is known that all is there, nobody can join; run again, the import is completed."""
    bring_in(ensemble, "prepare")


@case
def losing_restore(ensemble: Ensemble) -> None:
    """Lines are numbered: none is there twice."""
    bring_in(ensemble, "restore")


def bring_in(ensemble: Ensemble, name: str) -> None:
    namespace = filled(ensemble)
    path = ensemble.near.folder / f"{namespace}.jsonl"
    assert ensemble.run("export", "--out", str(path), namespace=namespace).returncode == 0
    purge(ensemble.link, Keys(namespace))
    words = ("import", str(path))

    rules: dict[Fault, Rule] = {}
    for fault in UNKNOWN:
        rules |= ensemble.lose(
            ensemble.harm(SCRIPTS[name].sha, fault),
            one_for_each(partial(ensemble.run, *words, namespace=namespace, how=HASTY)),
        )

    assert repeat(ensemble, name, *words, namespace=namespace).returncode == 0
    arrives(rules[COPY])
    numbers = [
        number_of(each.decode()) for each in ensemble.link.command("LRANGE", Keys(namespace).pending("it"), 0, -1)
    ]
    assert numbers == list(range(1, WAITING + 1))
    purge(ensemble.link, Keys(namespace))


def filled(ensemble: Ensemble) -> str:
    """A namespace in which messages wait, and nobody is present."""
    namespace = f"{ensemble.near.namespace}-{new_id()}"
    keys, envelopes = Keys(namespace), [pack(f"{n}-eve", "it", 1, b"x") for n in range(1, WAITING + 1)]
    enlist(ensemble.link, keys, "eve", "demo")
    submit(ensemble.link, keys, "eve", WAITING, SubmitCall(1, {"it": envelopes}))
    return namespace
