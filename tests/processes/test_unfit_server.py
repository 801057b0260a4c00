"""A server that works, but not for us: refused with the remedy; --force only where it can help. Read from INFO alone."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from soloist.store.fitness import Severity, static_findings
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.crew import Crew
from tests.processes.impostor import Impostor, a_server
from tests.processes.mending import INTO_FILE
from tests.processes.one_command import CHANGING, LOOKING, REMOVING, SERVER, Says, soloist, spelled
from tests.servers import KINDS, Kind, PrivateServer, require

EVICTING = {"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}
OLD = "redis_version:6.2.14 redis_mode:standalone role:master maxmemory:0 aof_enabled:1"
SENTINEL = "redis_version:7.0.15 redis_mode:sentinel"

Made = Callable[[Kind, dict[str, str]], PrivateServer]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Makes servers with options of their own, each once."""
    there: dict[str, PrivateServer] = {}

    def make(kind: Kind, options: dict[str, str]) -> PrivateServer:
        require(kind)
        name = f"{kind} {options}"
        if name not in there:
            there[name] = PrivateServer(kind, tmp_path_factory.mktemp("unfit"), options=options)
            there[name].start()
        return there[name]

    yield make
    for server in there.values():
        server.stop()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    of: Kind = request.param
    return of


@pytest.fixture
def replica(made: Made, kind: Kind) -> PrivateServer:
    """One whose primary does not even answer: it says so itself."""
    return made(kind, {"replicaof": "127.0.0.1 1"})


@pytest.fixture
def server(made: Made, kind: Kind) -> PrivateServer:
    """The server of the crew: it throws keys away when its memory is full."""
    return made(kind, EVICTING)


# Too old.


@pytest.mark.parametrize("words", [*LOOKING, *CHANGING, *REMOVING], ids=spelled)
def test_a_server_that_is_too_old_is_refused_and_force_is_not_offered(says: Says, words: tuple[str, ...]) -> None:
    """It cannot even read our scripts."""
    with Impostor(a_server(OLD)) as old:
        ended = says(*words, "--addr", old.address)

    ended.assert_refused(
        SERVER, f"{old.address}: redis 6.2.14 is too old", "Use Redis 7.0 or newer, or Valkey 8 or newer"
    )
    assert "--force" not in ended.stderr


def test_force_does_not_make_an_old_server_newer(says: Says) -> None:
    """The same sentence."""
    with Impostor(a_server(OLD)) as old:
        says("run", "--force", "--addr", old.address).assert_refused(SERVER, "is too old")


def test_the_doctor_says_that_a_server_is_too_old(says: Says) -> None:
    """It is asked what is wrong, so it answers instead of refusing."""
    with Impostor(a_server(OLD)) as old:
        ended = says("doctor", "--addr", old.address)

    assert ended.code == 1
    assert "unfit     version: redis 6.2.14 is too old" in ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("words", [("status",), ("run",)], ids=spelled)
def test_a_sentinel_is_no_server_of_ours(says: Says, words: tuple[str, ...]) -> None:
    """It answers like one, on another port of the same machine."""
    with Impostor(a_server(SENTINEL)) as sentinel:
        says(*words, "--addr", sentinel.address).assert_refused(
            SERVER, "this is a Sentinel, which keeps no data", "Name"
        )


# A read-only replica.


@pytest.mark.parametrize("words", [*CHANGING, *REMOVING], ids=spelled)
def test_a_replica_is_refused_with_the_name_of_its_primary(
    says: Says, replica: PrivateServer, words: tuple[str, ...]
) -> None:
    """Whatever would be written; force is not offered, since it cannot help."""
    ended = says(*words, "--addr", f"127.0.0.1:{replica.port}")

    ended.assert_refused(SERVER, "this is a read-only replica. Name its primary, 127.0.0.1:1.")
    assert "--force" not in ended.stderr


def test_force_does_not_make_a_replica_writable(says: Says, replica: PrivateServer) -> None:
    """The same sentence."""
    says("run", "--force", "--addr", f"127.0.0.1:{replica.port}").assert_refused(SERVER, "read-only replica")


@pytest.mark.parametrize("words", LOOKING, ids=spelled)
def test_a_replica_can_be_looked_at(says: Says, replica: PrivateServer, words: tuple[str, ...]) -> None:
    """To read is what a replica is for."""
    ended = says(*words, "--addr", f"127.0.0.1:{replica.port}")

    assert ended.code == (1 if "show" in words else 0), ended
    assert "Traceback" not in ended.stderr


def test_the_doctor_does_not_advise_a_permission_where_none_is_missing(says: Says, replica: PrivateServer) -> None:
    """What a replica refuses, no rule of the ACL allows."""
    ended = says("doctor", "--addr", f"127.0.0.1:{replica.port}")

    assert ended.code == 1
    assert "unfit     role: this is a read-only replica\n           Name its primary, 127.0.0.1:1." in ended.stdout
    assert "Allow +" not in ended.stdout


# Eviction.


def info(policy: str, maxmemory: int = 100_000_000) -> dict[str, str]:
    return {"redis_version": "7.0.15", "maxmemory": str(maxmemory), "maxmemory_policy": policy, "aof_enabled": "1"}


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random"])
def test_a_policy_that_evicts_any_key_is_unfit(policy: str) -> None:
    """It would throw messages away."""
    (finding,) = [each for each in static_findings(info(policy)) if each.what == "eviction"]

    assert finding.severity is Severity.UNFIT
    assert policy in finding.says


@pytest.mark.parametrize(
    ("policy", "maxmemory"),
    [
        ("noeviction", 1000),
        ("volatile-lru", 1000),
        ("volatile-lfu", 1000),
        ("volatile-random", 1000),
        ("volatile-ttl", 1000),
        ("allkeys-lru", 0),
    ],
)
def test_a_policy_that_cannot_hit_our_keys_is_fit(policy: str, maxmemory: int) -> None:
    """volatile-* evicts keys with an expiry, and ours have none; without a limit nothing is evicted."""
    assert all(each.severity is Severity.OK for each in static_findings(info(policy, maxmemory)))


def test_an_evicting_server_is_refused_with_the_remedy_and_with_force(crew: Crew) -> None:
    """Both ways out are named."""
    soloist("run", *crew.connection).assert_refused(
        SERVER, "maxmemory-policy is allkeys-lru", "Set maxmemory-policy to noeviction", "lose messages", "say --force"
    )


def test_who_says_force_is_warned_and_goes_on(crew: Crew) -> None:
    """Once, in the log."""
    path = crew.folder / "stderr"

    crew.start("--force", before=(*INTO_FILE, str(path))).end()

    said = [line for line in path.read_text().splitlines() if "server.eviction" in line]
    assert len(said) == 1
    assert "allkeys-lru" in said[0]


@pytest.mark.parametrize("words", [*LOOKING, ("getErrors",), ("purge", "--yes")], ids=spelled)
def test_what_is_on_an_evicting_server_can_be_looked_at_and_taken_out(
    says: Says, server: PrivateServer, words: tuple[str, ...]
) -> None:
    """Refusing that would help nobody."""
    assert says(*words, "--url", server.url).code == (1 if "show" in words else 0)


# Read from INFO alone.


@pytest.fixture
def restricted(server: PrivateServer) -> Iterator[Callable[[str], str]]:
    """The URL of a user who may do everything but some commands."""
    with closing(Link(Server(server.url), timeout=5)) as link:

        def user(rule: str) -> str:
            link.command("ACL", "SETUSER", "eve", "reset", "on", ">secret", "~*", "&*", "+@all", *rule.split())
            return server.url.replace("redis://", "redis://eve:secret@")

        yield user
        link.command("ACL", "DELUSER", "eve")


def test_eviction_is_found_where_config_is_forbidden(says: Says, restricted: Callable[[str], str]) -> None:
    """As managed servers do."""
    says("run", "--url", restricted("-config")).assert_refused(SERVER, "maxmemory-policy is allkeys-lru")


def test_where_info_is_forbidden_nothing_is_checked_and_that_is_said(
    crew: Crew, restricted: Callable[[str], str], says: Says
) -> None:
    """An instance starts, with a warning; commands work."""
    path = crew.folder / "stderr"
    crew.url = restricted("-info -config")

    crew.start(before=(*INTO_FILE, str(path))).end()

    assert "server.info says='INFO is forbidden here" in path.read_text()
    assert "Allow +info" in path.read_text()
    assert says("status", "--url", crew.url).code == 0


@pytest.mark.parametrize("words", [("status",), ("run",)], ids=spelled)
def test_an_old_server_that_forbids_info_is_refused_all_the_same(says: Says, words: tuple[str, ...]) -> None:
    """It is known by what it says of our scripts."""
    with Impostor(a_server(None)) as old:
        says(*words, "--addr", old.address).assert_refused(SERVER, "too old", "Use Redis 7.0 or newer")
