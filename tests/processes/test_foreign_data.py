"""Somebody else's data under our names, another version, another App: a clear error, and nothing is overwritten."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from soloist.store.keys import TYPES, Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import purge
from tests.processes.crew import Crew, Running
from tests.processes.mending import INTO_FILE
from tests.processes.one_command import CHANGING, LOOKING, USAGE, Says, soloist, spelled
from tests.servers import PrivateServer, Store
from tests.store.acting import Instance, ids
from tests.store.state import nothing_changes
from tests.waiting import wait_until

KINDS_LISTS = ["pending:default", "again:default", "suspect:default", "bell:default", "delayed:default"]
NAMES = [*TYPES, *KINDS_LISTS]
THEIRS = "theirs"


@pytest.fixture
def used(store: Store) -> Iterator[Store]:
    """A namespace that has been used: messages wait, errors rest, nobody is there."""
    instance = Instance(store)
    instance.join()
    instance.beat()
    instance.publish(5)
    instance.next(failed=ids(instance.next(want=2)))
    instance.leave()
    yield store
    purge(store.link, store.keys)  # the look at what was left behind would stumble over what is here


def connection(store: Store, server: PrivateServer) -> tuple[str, ...]:
    return ("--url", server.url, "--namespace", store.keys.namespace)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_another_type_is_named_by_every_command(
    says: Says, used: Store, server: PrivateServer, name: str
) -> None:
    """The key, its type, ours, and what to do; exit 2, and nothing of the namespace has changed."""
    key, ours = used.keys.base + name, used.keys.type_of(used.keys.base + name)
    used.link.command("SET", key, THEIRS)

    for words in (*LOOKING, *CHANGING) if server.kind == "valkey" else (LOOKING[0], CHANGING[0]):
        with nothing_changes(used):
            ended = says(*words, *connection(used, server))

        ended.assert_refused(USAGE, f"the key {key} is a string, where soloist keeps a {ours}", "Rename or delete")


def test_a_process_says_it_in_one_sentence(used: Store, server: PrivateServer) -> None:
    """For real."""
    used.link.command("SET", used.keys.term, THEIRS)

    with nothing_changes(used):
        soloist("run", *connection(used, server)).assert_refused(USAGE, f"the key {used.keys.term} is a string")


@pytest.mark.parametrize("words", [*LOOKING, *CHANGING], ids=spelled)
def test_another_version_of_the_protocol_is_refused(
    says: Says, used: Store, server: PrivateServer, words: tuple[str, ...]
) -> None:
    """Who does not know what the keys mean neither changes them nor shows them."""
    used.link.command("HSET", used.keys.meta, "protocol", "99")

    with nothing_changes(used):
        says(*words, *connection(used, server)).assert_refused(
            USAGE, "speaks version 99 of the protocol, this soloist 4", "Update the older side, or name another"
        )


def test_the_namespace_of_another_app_is_refused(used: Store, server: PrivateServer, says: Says) -> None:
    """Its name is told, and the remedy; nothing is changed."""
    used.link.command("HSET", used.keys.meta, "app", "orders")

    with nothing_changes(used):
        says("run", *connection(used, server)).assert_refused(USAGE, "belongs to the App 'orders'", "--namespace")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("meta", ["HSET", "color", "blue"]),
        ("pending:default", ["RPUSH", "job 1"]),
        ("errors", ["HSET", "1", "broken"]),
        ("instances", ["ZADD", "1", "web"]),
    ],
)
def test_what_was_there_before_us_is_not_taken_for_ours(
    says: Says, store: Store, server: PrivateServer, name: str, words: list[str]
) -> None:
    """Of the right type even: an instance that began there would handle or overwrite it."""
    store.link.command(words[0], store.keys.base + name, *words[1:])

    with nothing_changes(store):
        says("run", *connection(store, server)).assert_refused(USAGE, f"the key {store.keys.base}{name} is there, but")


def test_keys_that_we_do_not_know_are_left_alone_and_purge_says_that_it_removes_them(
    says: Says, used: Store, server: PrivateServer
) -> None:
    """Also one that is no text; its name is made harmless."""
    unknown = used.keys.base + "something"
    binary = used.keys.base.encode() + b"\xff\x1b[2J"
    used.link.command("MSET", unknown, THEIRS, binary, THEIRS)
    told = f"also 2 that soloist did not write: {unknown}, {used.keys.base}\\xff\\x1b[2J"

    assert says("status", *connection(used, server)).code == 0
    says("purge", *connection(used, server)).assert_refused(USAGE, "messages not handled: 3, errors: 2", told, "--yes")
    assert used.link.command("EXISTS", unknown, binary) == 2
    removed = says("purge", "--yes", *connection(used, server))

    assert removed.code == 0
    assert told in removed.stdout
    assert used.link.command("EXISTS", unknown, binary, used.keys.meta) == 0


def test_purge_leaves_what_handlers_wrote_unless_it_is_told(says: Says, used: Store, server: PrivateServer) -> None:
    """It is the users' own: counted before and after, never called a stranger's, and removed by --data."""
    data = used.keys.base + "data:sum"
    used.link.command("SET", data, 7)
    told = "what handlers wrote (data:…, 1 key) stays, --data removes it, too"

    says("purge", *connection(used, server)).assert_refused(USAGE, told, "--yes")
    left = says("purge", "--yes", *connection(used, server))
    assert (left.code, told in left.stdout, "did not write" in left.stdout) == (0, True, False)
    assert used.link.command("GET", data) == b"7"

    assert says("purge", "--yes", "--data", *connection(used, server)).code == 0
    assert used.link.command("EXISTS", data) == 0


def test_purge_is_the_way_out_whatever_is_in_a_namespace(says: Says, used: Store, server: PrivateServer) -> None:
    """Another version, and a key of another type: what cannot be read is said to be so, and can be removed."""
    used.link.command("HSET", used.keys.meta, "protocol", "99")
    used.link.command("SET", used.keys.kinds, THEIRS)

    says("purge", *connection(used, server)).assert_refused(
        USAGE, "cannot be read", f"did not write: {used.keys.kinds}"
    )
    assert says("purge", "--yes", *connection(used, server)).code == 0
    assert used.link.command("KEYS", used.keys.base + "*") == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("totals", ["HSET", "published", "many"]),
        ("pending:default", ["LPUSH", "hello"]),
        ("term", ["HSET", "instance", "eve"]),
        ("line", ["HSET", "1", "\x1b[2J"]),
    ],
)
def test_what_cannot_be_read_is_no_riddle(
    says: Says, used: Store, server: PrivateServer, name: str, words: list[str]
) -> None:
    """A stranger wrote into a key of ours: no traceback."""
    if name == "term":
        used.link.command("DEL", used.keys.term)
    used.link.command(words[0], used.keys.base + name, *words[1:])

    ended = says("status", *connection(used, server))

    if name != "line":
        ended.assert_refused(USAGE, "not what soloist writes")
    assert "\x1b" not in ended.stdout


@pytest.mark.parametrize("record", [THEIRS, "5 2 {}1-x default 1 5 0 0 body", "5 3 {}", "6 9"])
def test_a_record_that_nobody_of_us_wrote_is_named_and_left_there(
    says: Says, used: Store, server: PrivateServer, record: str
) -> None:
    """By whatever would show or remove it."""
    used.link.command("HSET", used.keys.errors, "1-x", record)
    used.link.command("ZADD", used.keys.errors_by_time, 5, "1-x")

    for words in (("getErrors",), ("errors", "list"), ("errors", "export"), ("errors", "show", "1-x")):
        says(*words, *connection(used, server)).assert_refused(USAGE, "soloist did not write, under '1-x'", "HDEL")

    assert used.link.command("HGET", used.keys.errors, "1-x") == record.encode()
    assert used.link.command("HLEN", used.keys.errors) == 3


# While instances run.

Started = Callable[..., tuple[Running, Callable[[], str]]]


@pytest.fixture
def started(crew: Crew) -> Started:
    """Starts an instance, and tells what it says on stderr."""

    def start(*options: str | float) -> tuple[Running, Callable[[], str]]:
        path = crew.folder / f"stderr{len(crew.running)}"
        running = crew.start("--interval", 0.02, "--error-rate", 0.5, *options, before=(*INTO_FILE, str(path)))
        return running, path.read_text

    return start


def test_instances_that_meet_a_stranger_say_so_and_end_and_lose_nothing(crew: Crew, started: Started) -> None:
    """Exit 2 and one sentence. When it is out of the way, all goes on: what was in hand is not lost."""
    everyone = [started() for _ in range(2)]
    wait_until(lambda: crew.snapshot().completed > 5, what="they work")
    key = Keys(crew.namespace).errors
    with closing(Link(Server(crew.url), timeout=5)) as link:
        if link.command("EXISTS", key):
            link.command("RENAME", key, key + "aside")
        link.command("SET", key, THEIRS)

        for running, said in everyone:
            assert running.process.wait(timeout=30) == USAGE
            sentences = [line for line in said().splitlines() if line.startswith("soloist: ")]
            assert len(sentences) == 1
            assert f"the key {key} is a string" in sentences[0]
            assert "Traceback" not in said()
        assert link.command("GET", key) == THEIRS.encode()
        link.command("DEL", key)
        if link.command("EXISTS", key + "aside"):
            link.command("RENAME", key + "aside", key)

    published = crew.snapshot().published
    for _ in range(2):
        started("--count", published)
    crew.wait_until_handled(published)


def test_what_somebody_pushed_into_our_list_stays_there_and_is_named(crew: Crew, started: Started) -> None:
    """It is no message. Handlers end with a sentence; taken out, all goes on."""
    started()
    handler, said = started()
    handler.wait_for("handled")
    key = Keys(crew.namespace).pending("default")
    with closing(Link(Server(crew.url), timeout=5)) as link:
        link.command("LPUSH", key, "hello")

        assert handler.process.wait(timeout=30) == USAGE
        assert f"at the head of the list {key} is no message" in said()
        assert "Traceback" not in said()
        assert link.command("LPOP", key) == b"hello"
    again, _ = started()
    again.wait_for("handled")
