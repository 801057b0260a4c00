"""Every script, called by real instances and real commands: its reply is lost or late, its call lost, late or cut off.

One ensemble per server, all of whose connections go through a fault proxy, is put through all of it, script by script.
After each of them everything goes on by itself, and every number that was published is there exactly once.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest

from soloist.chaos.faults import Fault
from soloist.chaos.proxy import FaultProxy
from soloist.chaos.resp import Command
from soloist.chaos.rule import Rule
from soloist.errors import Unavailable
from soloist.producer import Producer, Wanted
from soloist.runtime.incarnation import introduce
from soloist.store.agenda import put_schedule, read_agenda
from soloist.store.control import pause
from soloist.store.envelope import id_of
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.presence import join, leave
from soloist.store.server import Server
from soloist.store.snapshot import purge
from tests.conftest import left_behind
from tests.processes.crew import Crew, Running
from tests.processes.ensemble import (
    COPY,
    CUT,
    HASTY,
    IN_TIME,
    LATE,
    LEASES,
    LOST,
    OPTIONS,
    SCRIPTS,
    SETTINGS,
    UNKNOWN,
    Done,
    Ensemble,
    all_at_once,
    arguments,
    arrives,
    caller,
    caught,
    each_its_own,
    number_of,
    one_for_each,
    records_a_failure,
    said,
    wait_for_all,
)
from tests.servers import KINDS, Kind, PrivateServer
from tests.waiting import wait_until


@pytest.fixture(scope="module", params=KINDS)
def ensemble_of_all(
    request: pytest.FixtureRequest,
    servers: Callable[[Kind], PrivateServer],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ensemble]:
    """One for all scripts: what one of them broke would show with the next."""
    server = servers(request.param)
    with FaultProxy("127.0.0.1", server.port) as proxy:
        made = Ensemble(server, proxy, tmp_path_factory.mktemp("ensemble"))
        made.wait_until_it_works_on()
        yield made
        made.end()


@pytest.fixture
def ensemble(ensemble_of_all: Ensemble) -> Iterator[Ensemble]:
    """When the test is over, nothing is held back and nothing is paused."""
    yield ensemble_of_all
    for rule in ensemble_of_all.rules:
        rule.release()
    pause(ensemble_of_all.link, ensemble_of_all.keys, ["default"], on=False)


# What becomes of each script.

CASES: dict[str, Callable[[Ensemble], None]] = {}


def case(function: Callable[[Ensemble], None]) -> Callable[[Ensemble], None]:
    CASES[function.__name__.split("_")[1]] = function
    return function


@case
def losing_beat(ensemble: Ensemble) -> None:
    """The next beat says the same. The answer that elects is given again: no term is left that nobody plays."""
    rules = wait_for_all(ensemble.harm(SCRIPTS["beat"].sha, *UNKNOWN, IN_TIME))
    ensemble.wait_until_it_works_on()
    assert arrives(rules[COPY])[0] in (b"OK", b"SUPERSEDED")

    elected = ensemble.harm(SCRIPTS["beat"].sha, CUT, answering=b"elected")[CUT]
    ensemble.hand_over()
    fields = said(elected.wait().caught[0])[-2]
    term = int(fields[fields.index(b"term") + 1])
    wait_until(
        lambda: any(each.told("elected", term=term) for each in ensemble.everyone), what=f"term {term} is played"
    )


@case
def losing_publish(ensemble: Ensemble) -> None:
    """Repeated unchanged until the outcome is known, applied once; nothing of an older term is accepted."""
    rules = wait_for_all(ensemble.harm(SCRIPTS["publish"].sha, *UNKNOWN, IN_TIME))
    superseded = ensemble.wait_until_it_works_on().superseded["publish"]
    ensemble.hand_over()

    assert arrives(rules[COPY])[0] == b"SUPERSEDED"
    assert ensemble.near.snapshot().superseded["publish"] > superseded


@case
def losing_next(ensemble: Ensemble) -> None:
    """Repeated unchanged: what was claimed is answered again, and nobody claims, completes or fails twice."""
    wait_for_all(ensemble.harm(records_a_failure, LOST, LATE, CUT, IN_TIME))
    ensemble.wait_until_it_works_on()
    rules = wait_for_all(
        ensemble.harm(records_a_failure, COPY)
    )  # by itself: who repeats the others is told what it holds
    ensemble.wait_until_it_works_on()

    assert arrives(rules[COPY])[0] in (b"SUPERSEDED", b"AGAIN")


@case
def losing_join(ensemble: Ensemble) -> None:
    """Never repeated: another id is tried. At the start it is the end, with a sentence."""
    rules = ensemble.harm(SCRIPTS["join"].sha, *UNKNOWN, IN_TIME)
    reborn = ensemble.everyone[0]
    joined = len(reborn.told("joined"))
    leave(ensemble.link, ensemble.keys, reborn.id, SETTINGS, ["default"])

    wait_for_all(rules)
    reborn.wait_for("joined", count=joined + 1)
    ensemble.wait_until_it_works_on()
    assert arrives(rules[COPY])[0] == b"OK"
    ids = {fault: caller(rule, "join") for fault, rule in rules.items()}
    assert len({*ids.values()}) == len(ids)
    ensemble.ghosts |= {ids[fault] for fault in (LOST, LATE, CUT, COPY)}

    first = [ensemble.proxy.rule(LOST, SCRIPTS["join"].sha, nth) for nth in (1, 2)]
    commands = [partial(ensemble.run, "run", "--events", *OPTIONS), partial(ensemble.run, "getErrors", *LEASES)]
    for done in all_at_once(commands):
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.splitlines()[-1].startswith("soloist: 127.0.0.1:")
    ensemble.ghosts |= {caller(rule, "join") for rule in first}


@case
def losing_leave(ensemble: Ensemble) -> None:
    """Tried twice, and gone in any case. What was not given back would be reclaimed."""
    leaving = ensemble.start(3)
    ids = {running.id for running in leaving}
    rules = ensemble.harm(SCRIPTS["leave"].sha, *UNKNOWN, IN_TIME)

    assert all_at_once([running.end for running in leaving]) == [0, 0, 0]

    wait_for_all(rules)
    wait_until(lambda: not ids & ensemble.present(), what="they are gone")
    assert arrives(rules[COPY]) == [b"GONE"]


@case
def losing_reclaim(ensemble: Ensemble) -> None:
    """Somebody takes back what the dead held, once. What they said last arrives too late, and is refused."""
    victims = ensemble.start(4, "--role", "handler")
    last_words = [
        ensemble.proxy.rule(COPY, partial(records_a_failure, instance=victim.id), nth=None) for victim in victims
    ]
    ensemble.rules += last_words
    for rule in last_words:
        rule.wait()
    before = ensemble.near.snapshot()
    rules = ensemble.harm(SCRIPTS["reclaim"].sha, *UNKNOWN, IN_TIME, answering=b"OK")

    for victim in victims:
        victim.kill()

    wait_for_all(rules)
    wait_until(lambda: not {victim.id for victim in victims} & ensemble.present(), what="they are gone")
    seen = ensemble.wait_until_it_works_on()
    assert seen.reclaimed >= before.reclaimed + len(victims)
    assert arrives(rules[COPY]) == [b"GONE"]
    for rule in last_words:
        assert arrives(rule) == [b"SUPERSEDED"]
    assert ensemble.near.snapshot().superseded["next"] >= before.superseded["next"] + len(victims)


@case
def losing_drain(ensemble: Ensemble) -> None:
    """Asked again, it answers what is held: every record is printed once."""
    print_errors(ensemble, "drain")


@case
def losing_confirm(ensemble: Ensemble) -> None:
    """Said again, it removes nothing more."""
    print_errors(ensemble, "confirm")


def print_errors(ensemble: Ensemble, name: str) -> None:
    rules = ensemble.harm(SCRIPTS[name].sha, *UNKNOWN, IN_TIME)

    done = ensemble.run("getErrors", "--json", *LEASES)

    assert done.returncode == 0, done.stderr
    wait_for_all(rules)
    printed = [number_of(json.loads(line)["id"]) for line in done.stdout.splitlines()]
    assert done.stderr == f"{len(printed):,} erroneous messages\n"
    ensemble.removed += printed
    assert arrives(rules[COPY]) == [b"SUPERSEDED"]


@case
def losing_requeue(ensemble: Ensemble) -> None:
    """Each message waits again once; what has failed again since is passed over."""
    ids = ensemble.resting(len(UNKNOWN))
    before = ensemble.times(ids)
    commands = {ident: partial(ensemble.run, "errors", "requeue", ident, how=HASTY) for ident in ids}

    rules = ensemble.harm(names_the_kind, *UNKNOWN, answering=b"OK")
    ensemble.lose(rules, each_its_own(commands))

    missed = caught(rules, ids)[COPY]
    ensemble.wait_until_it_works_on()
    assert [ident for ident, time in ensemble.times(ids).items() if time == before[ident]] == [missed]
    done = repeat(ensemble, "requeue", "errors", "requeue", missed)
    assert (done.returncode, done.stdout) == (0, "1 requeued\n")
    wait_until(lambda: None not in ensemble.times(ids).values(), what="they have failed again")
    assert arrives(rules[COPY]) == [b"OK", 0]


def names_the_kind(call: Command) -> bool:
    """The call that does it; the one before it only asked for the kinds."""
    return call.calls(SCRIPTS["requeue"].sha) and call.words[-1] == b"default"


@case
def losing_discard(ensemble: Ensemble) -> None:
    """Gone is gone."""
    ids = ensemble.resting(len(UNKNOWN))
    commands = {ident: partial(ensemble.run, "errors", "delete", ident, how=HASTY) for ident in ids}

    rules = ensemble.lose(ensemble.harm(SCRIPTS["discard"].sha, *UNKNOWN), each_its_own(commands))

    missed = caught(rules, ids)[COPY]
    assert [ident for ident, time in ensemble.times(ids).items() if time is not None] == [missed]
    done = repeat(ensemble, "discard", "errors", "delete", missed)
    assert (done.returncode, done.stdout) == (0, "1 deleted\n")
    assert arrives(rules[COPY]) == [b"OK", 0]
    ensemble.removed += map(number_of, ids)


@case
def losing_pause(ensemble: Ensemble) -> None:
    """It is paused or it is not, and saying it again makes it so. A late copy does what it was asked to."""
    command = partial(ensemble.run, "pause", how=HASTY)

    rules = ensemble.lose(ensemble.harm(SCRIPTS["pause"].sha, *UNKNOWN), one_for_each(command))

    assert ensemble.near.snapshot().kinds["default"].paused
    done = repeat(ensemble, "pause", "pause")
    assert (done.returncode, done.stdout) == (0, "paused: default\n")
    assert pause(ensemble.link, ensemble.keys, ["default"], on=False) == 1
    assert arrives(rules[COPY]) == [b"OK", 1]
    assert ensemble.near.snapshot().kinds["default"].paused
    assert pause(ensemble.link, ensemble.keys, ["default"], on=False) == 1


@case
def losing_handover(ensemble: Ensemble) -> None:
    """The generator was asked, or was not; to ask again is to ask whoever generates by then."""
    wait_until(ensemble.has_successor, what="somebody generates, and somebody is in line")
    before = ensemble.term()
    command = partial(ensemble.run, "handover", how=HASTY)

    ensemble.lose(ensemble.harm(SCRIPTS["handover"].sha, *UNKNOWN), one_for_each(command))

    wait_until(ensemble.has_successor, what="somebody generates, and somebody is in line")
    done = repeat(ensemble, "handover", "handover")
    assert done.returncode == 0, done.stderr
    assert "generates now" in done.stdout
    assert ensemble.term() >= before + 2


@case
def losing_snapshot(ensemble: Ensemble) -> None:
    """It only reads."""
    command = partial(ensemble.run, "status", how=HASTY)

    ensemble.lose(ensemble.harm(SCRIPTS["snapshot"].sha, LOST, LATE), one_for_each(command))

    done = repeat(ensemble, "snapshot", "status")
    assert (done.returncode, done.stderr) == (0, "")


@case
def losing_survey(ensemble: Ensemble) -> None:
    """It only reads."""
    command = partial(ensemble.run, "status", how=HASTY)

    ensemble.lose(ensemble.harm(SCRIPTS["survey"].sha, LOST, LATE), one_for_each(command))

    assert repeat(ensemble, "survey", "status").returncode == 0


@case
def losing_sample(ensemble: Ensemble) -> None:
    """Nothing depends on it: the next second has its sample again, and a late copy of an old one is none."""
    rules = wait_for_all(ensemble.harm(SCRIPTS["sample"].sha, *UNKNOWN, IN_TIME))
    ensemble.wait_until_it_works_on()
    ensemble.hand_over()

    assert arrives(rules[COPY]) == [b"OVER"]


@case
def losing_report(ensemble: Ensemble) -> None:
    """Said again with the next beat, until it is known to be written."""
    late = ensemble.everyone[0]
    rules = ensemble.harm(SCRIPTS["report"].sha, LOST, IN_TIME)
    late.freeze()
    wait_until(lambda: unheard(ensemble, late) > 800, what="its heart is late")
    late.thaw()

    wait_for_all(rules)
    wait_until(lambda: any(each.late_ms for each in ensemble.near.snapshot().instances), what="it is written")


def unheard(ensemble: Ensemble, running: Running) -> int:
    """Milliseconds since its last beat."""
    return max((each.heard_ms for each in ensemble.near.snapshot().instances if each.id == running.id), default=0)


@case
def losing_purge(ensemble: Ensemble) -> None:
    """All of a namespace is gone, or nothing of it."""
    names = [f"{ensemble.near.namespace}-{number}" for number in range(len(UNKNOWN))]
    for name in names:
        join(ensemble.link, Keys(name), introduce("demo", ["default"]), SETTINGS)
    commands = {name: partial(ensemble.run, "purge", "--yes", namespace=name, how=HASTY) for name in names}

    rules = ensemble.lose(ensemble.harm(SCRIPTS["purge"].sha, *UNKNOWN), each_its_own(commands))

    keys = {name: len(ensemble.link.command("KEYS", f"*{{{name}}}*")) for name in names}
    missed = caught(rules, names)[COPY]
    assert [name for name in names if keys[name]] == [missed]
    done = repeat(ensemble, "purge", "purge", "--yes", namespace=missed)
    assert (done.returncode, done.stdout.split(": ")[1]) == (0, f"{keys[missed]} keys removed\n")
    assert arrives(rules[COPY]) == [b"OK", 0]


# What schedules, and processes that are no instances, call.


@case
def losing_agenda(ensemble: Ensemble) -> None:
    """It only reads; a new generator publishes no tick before it has."""
    rules = ensemble.harm(SCRIPTS["agenda"].sha, LOST, LATE, CUT)
    ensemble.hand_over()
    wait_for_all(rules)


@case
def losing_declare(ensemble: Ensemble) -> None:
    """What the code does not declare (any more) goes, whatever became of the call; nobody but the generator says so."""
    link, keys = ensemble.link, ensemble.keys
    rules = ensemble.harm(SCRIPTS["declare"].sha, *UNKNOWN)
    for fault in UNKNOWN:
        link.command("HSET", keys.schedules, "old", b'{"name":"old","kind":"old","every_ms":1000,"origin":"code"}')
        link.command("HINCRBY", keys.meta, "agenda", 1)
        rules[fault].wait()
        wait_until(lambda: not link.command("HLEN", keys.schedules), what="it is gone")
    ensemble.hand_over()

    assert arrives(rules[COPY]) == [b"SUPERSEDED", b"term"]


@case
def losing_schedule(ensemble: Ensemble) -> None:
    """It is there or it is not, and saying it again makes it so. A late copy does what it was asked to."""
    json = b'{"name":"rare","kind":"rare","every_ms":3600000}'
    rules = ensemble.harm(SCRIPTS["schedule"].sha, *UNKNOWN)
    far = Link(Server(ensemble.proxy.url()), timeout=SETTINGS.call_timeout)
    given_up = 0
    while given_up < len(UNKNOWN):
        try:
            put_schedule(far, ensemble.keys, "rare", json)
        except Unavailable:
            given_up += 1
    far.close()

    assert read_agenda(ensemble.link, ensemble.keys).schedules == {"rare": json.decode()}
    assert arrives(wait_for_all(rules)[COPY]) == [b"OK", 0]
    assert put_schedule(ensemble.link, ensemble.keys, "rare", b"")


def publish_aside(ensemble: Ensemble, rules: dict[Fault, Rule], many: int) -> list[str]:
    """So many messages, one by one, into a namespace of their own: where they would be, and what they were told."""
    keys = Keys(f"{ensemble.near.namespace}-aside")
    producer = Producer(Server(ensemble.proxy.url()), keys.namespace, "demo", 1000, SETTINGS.call_timeout, 30)
    told = [producer.publish([Wanted("default", b"x")])[0] for _ in range(many)]
    producer.close()
    assert len(wait_for_all(rules)[COPY].caught) == 1
    late = arrives(rules[COPY])
    found = [id_of(each).decode() for each in ensemble.link.command("LRANGE", keys.pending("default"), 0, -1)]
    purge(ensemble.link, keys, data=True)
    assert found == told
    return [late[0].decode(), *told]


@case
def losing_enlist(ensemble: Ensemble) -> None:
    """Never repeated: another id is tried."""
    rules = ensemble.harm(SCRIPTS["enlist"].sha, *UNKNOWN, IN_TIME)

    assert publish_aside(ensemble, rules, 1)[0] == "OK"

    names = {arguments(rule.caught[0])[SCRIPTS["enlist"].args.index("producer")] for rule in rules.values()}
    assert len(names) == len(rules)


@case
def losing_submit(ensemble: Ensemble) -> None:
    """Repeated unchanged until the outcome is known, applied once; a late copy of an older call is refused."""
    rules = ensemble.harm(SCRIPTS["submit"].sha, *UNKNOWN, IN_TIME)

    assert publish_aside(ensemble, rules, 3 * len(rules))[0] == "GONE"


def repeat(ensemble: Ensemble, name: str, *words: str, namespace: str = "") -> Done:
    """The same command again; the reply is late, but in time."""
    rules = ensemble.harm(SCRIPTS[name].sha, IN_TIME)
    done = ensemble.run(*words, namespace=namespace)
    wait_for_all(rules)
    return done


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_whatever_becomes_of_a_call_everything_goes_on_and_is_there_once(ensemble: Ensemble, name: str) -> None:
    """Lost, late, late but in time, cut off, never arrived, arrived when nobody waited for it any more."""
    assert name in CASES, f"say what is to become of {name}.lua when its replies are lost"

    CASES[name](ensemble)

    ensemble.wait_until_it_works_on()


def test_a_late_copy_of_handover_asks_only_for_the_term_that_was_on(ensemble: Ensemble) -> None:
    """Or it would depose somebody who has just begun."""
    rules = ensemble.harm(SCRIPTS["handover"].sha, COPY)
    ensemble.lose(rules, one_for_each(partial(ensemble.run, "handover", how=HASTY)))
    ensemble.hand_over()
    wait_until(ensemble.has_successor, what="somebody generates, and somebody is in line")

    assert arrives(rules[COPY])[0] == b"OVER"


def test_a_join_whose_reply_is_lost_is_never_repeated(crew: Crew) -> None:
    """By nobody, not even by the client library: at the start it is the end, with a sentence."""
    port = int(crew.url.rpartition(":")[2].split("/")[0])
    with closing(Link(Server(crew.url), timeout=5)) as link:
        link.command("SCRIPT", "LOAD", SCRIPTS["join"].text)
    with FaultProxy("127.0.0.1", port) as proxy:
        proxy.rule(LOST, SCRIPTS["join"].sha, 1)
        far = Crew(proxy.url(), crew.namespace, crew.folder)
        far.program, far.environment = crew.program, crew.environment

        done = far.command("run", "--events", *OPTIONS)

    assert done.returncode == 3, done.stderr
    assert "does not answer" in done.stderr


def test_no_case_is_left_over() -> None:
    assert CASES.keys() == SCRIPTS.keys()


def test_nothing_is_left_of_those_who_never_got_to_know_that_they_had_joined(ensemble: Ensemble) -> None:
    """Their leases end, and somebody takes them back; nor of anybody else who is gone."""
    wait_until(lambda: not ensemble.ghosts & ensemble.present(), what="the ghosts are gone")

    wait_until(lambda: ensemble.present() == {each.id for each in ensemble.everyone}, what="only the living are there")
    wait_until(lambda: not left_behind(ensemble.link, ensemble.keys), what="no key is left of anybody else")
