"""A server that is not there, is none, or does not let us in: one sentence that names what was tried, exit 3, soon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.impostor import (
    Behaviour,
    Impostor,
    drips,
    greets_like_ssh,
    hangs_up,
    rings_the_terminal_bell,
    says_nothing,
    speaks_http,
)
from tests.processes.one_command import EVERY_COMMAND, SERVER, Says, soloist, spelled
from tests.servers import KINDS, PrivateServer, require

SECRET = "hunter2"
NOBODY = "127.0.0.1:1"
ENTRANCES = [("run",), ("status",), ("getErrors",), ("doctor",)]
"""Commands that stand for all: they take the same way in, as the tests with all of them show."""


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=spelled)
def test_where_nobody_listens_every_command_says_so(says: Says, words: tuple[str, ...]) -> None:
    """What was tried, why not, what to do."""
    says(*words, "--addr", NOBODY).assert_refused(
        SERVER, f"{NOBODY} cannot be reached: Connection refused.", "Name the right one with --url"
    )


def test_a_host_that_nobody_knows_is_named(says: Says) -> None:
    """A name that cannot be resolved."""
    says("status", "--addr", "no-such-host.invalid:6379").assert_refused(SERVER, "no-such-host.invalid:6379")


def test_a_socket_that_is_not_there_is_named(says: Says, tmp_path: Path) -> None:
    """The same for unix://."""
    path = tmp_path / "no.sock"

    says("status", "--url", f"unix://{path}").assert_refused(SERVER, str(path), "No such file")


@pytest.fixture(params=KINDS, scope="module")
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateServer]:
    """A server that wants a password."""
    require(request.param)
    made = PrivateServer(request.param, tmp_path_factory.mktemp("guarded"), options={"requirepass": "sesame"})
    made.start()
    yield made
    made.stop()


def with_password(server: PrivateServer, user: str = "") -> str:
    return server.url.replace("redis://", f"redis://{user}:{SECRET}@")


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=spelled)
def test_a_wrong_password_is_called_wrong_and_never_repeated(
    says: Says, guarded: PrivateServer, words: tuple[str, ...]
) -> None:
    """The sentence says where the password stands; it does not advise to give one."""
    for user in ("", "ann"):
        ended = says(*words, "--url", with_password(guarded, user))

        ended.assert_refused(SERVER, f"127.0.0.1:{guarded.port} refuses us: user or password is wrong", "SOLOIST_URL")
        assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=spelled)
def test_a_missing_password_is_a_refusal_with_its_remedy(
    says: Says, guarded: PrivateServer, words: tuple[str, ...]
) -> None:
    """Where it goes."""
    says(*words, "--url", guarded.url).assert_refused(SERVER, "Authentication required", "A password goes into --url")


def test_a_password_is_in_no_output_of_a_real_process(guarded: PrivateServer) -> None:
    """Also not in what the interpreter or a library might add."""
    ended = soloist("run", "--log-level", "debug", environment={"SOLOIST_URL": with_password(guarded)})

    ended.assert_refused(SERVER, "user or password is wrong")
    assert SECRET not in ended.stdout + ended.stderr


def test_a_password_that_nobody_wants_is_to_be_left_out(says: Says, server: PrivateServer) -> None:
    """The server has none: another password would not help."""
    ended = says("status", "--url", with_password(server))

    ended.assert_refused(SERVER, "it wants no password, but one is given. Leave it out")
    assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.parametrize("words", ENTRANCES, ids=spelled)
def test_a_database_that_is_not_there_is_named(says: Says, server: PrivateServer, words: tuple[str, ...]) -> None:
    """With the way to name another."""
    says(*words, "--host", "127.0.0.1", "--port", str(server.port), "--db", "99").assert_refused(
        SERVER, f"127.0.0.1:{server.port} database 99", "--db"
    )


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=spelled)
def test_something_else_that_answers_is_no_redis(says: Says, words: tuple[str, ...]) -> None:
    """A web server, say: a sentence, not a riddle about bytes."""
    with Impostor(speaks_http) as stranger:
        says(*words, "--addr", stranger.address).assert_refused(
            SERVER, f"{stranger.address}: what answers there is no Redis", "Name the right one"
        )


def test_what_a_stranger_answers_is_made_harmless(says: Says) -> None:
    """It may be anything, also what a terminal would obey."""
    with Impostor(rings_the_terminal_bell) as stranger:
        ended = says("status", "--addr", stranger.address)

    ended.assert_refused(SERVER, "is no Redis")
    assert ended.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize("behaviour", [greets_like_ssh, hangs_up, says_nothing, drips])
def test_whatever_it_does_instead_of_answering_the_end_comes_soon(behaviour: Behaviour) -> None:
    """Within 5 seconds, also where no single wait is too long: the process would otherwise be killed here."""
    with Impostor(behaviour) as stranger:
        soloist("run", "--addr", stranger.address).assert_refused(SERVER, stranger.address, "Name the right one")
