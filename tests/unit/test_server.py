"""store/server.py: where the server is, said without its password, and what its errors mean."""

import pytest
from redis import exceptions

from soloist.errors import Defect, Forbidden, Unavailable, UsageError
from soloist.store.server import Server

SECRET = "verysecret"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://one", "one:6379"),
        ("redis://one:7000/3", "one:7000 database 3"),
        (f"redis://ann:{SECRET}@one:7000/0", "one:7000"),
        (f"rediss://:{SECRET}@one", "one:6379"),
        (f"unix://ann:{SECRET}@/run/redis.sock?db=2", "unix:/run/redis.sock database 2"),
    ],
)
def test_a_server_is_said_without_its_password(url: str, said: str) -> None:
    """What str() gives stands in logs and errors."""
    assert str(Server(url)) == said


def test_tls_is_seen() -> None:
    """By the scheme."""
    assert Server("rediss://one").uses_tls
    assert not Server("redis://one").uses_tls


@pytest.mark.parametrize(
    "url",
    ["", "one:6379", "http://one", "redis://one/x", "redis://one:port", "redis://one:70000", "redis://one?db=x"],
)
def test_a_bad_url_is_refused_with_the_right_form(url: str) -> None:
    """When it is read, not when it is used."""
    with pytest.raises(UsageError, match=r"Write redis://\[user:password@\]HOST:PORT/DB"):
        Server(url)


def test_an_option_that_the_client_does_not_know_is_a_bad_url() -> None:
    """Not a TypeError when the first connection is made."""
    with pytest.raises(UsageError, match="nonsense"):
        Server("redis://one?nonsense=1").connection(1)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://ann:{SECRET}/more@one:6379/0",
        f"redis://:{SECRET}#more@one",
        f"redis://:{SECRET}?more@one/0",
        f"redis://:/{SECRET}@one/0",
        f"redis://ann:{SECRET}@one:port",
        f"http://ann:{SECRET}@one",
    ],
)
def test_a_password_is_not_in_the_error_either(url: str) -> None:
    """Passwords with / # or ? that were not escaped are the most common bad URLs; the parser quotes them as a port."""
    with pytest.raises(UsageError) as refused:
        Server(url)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "word",
    [
        "LOADING",
        "READONLY",
        "OOM",
        "MISCONF",
        "NOREPLICAS",
        "MASTERDOWN",
        "CLUSTERDOWN",
        "TRYAGAIN",
        "BUSY",
        "UNBLOCKED",
    ],
)
def test_a_server_that_refuses_us_now_is_tried_again(word: str) -> None:
    """It said itself that nothing was carried out."""
    meaning = Server("redis://one").meaning(exceptions.ResponseError(f"{word} for a reason"))

    assert isinstance(meaning, Unavailable)
    assert meaning.refused
    assert "one:6379" in str(meaning)


@pytest.mark.parametrize(
    "error",
    [
        exceptions.BusyLoadingError("is loading"),
        exceptions.ReadOnlyError("replica"),
        exceptions.OutOfMemoryError("command not allowed"),
        exceptions.MasterDownError("link is down"),
        exceptions.ClusterDownError("no quorum"),
        exceptions.TryAgainError("in migration"),
    ],
)
def test_what_the_client_has_its_own_errors_for_means_the_same(error: Exception) -> None:
    """It takes the word off the text for some."""
    meaning = Server("redis://one").meaning(error)

    assert isinstance(meaning, Unavailable)
    assert meaning.refused


@pytest.mark.parametrize(
    "error",
    [
        exceptions.AuthenticationError("invalid password"),
        exceptions.NoPermissionError("no permissions to run the 'eval' command"),
        exceptions.ResponseError("ERR ACL failure in script: no permissions to run 'hset'"),
    ],
)
def test_what_we_may_not_do_is_forbidden(error: Exception) -> None:
    """Password or permission: somebody may mend it, so it is tried again after the start."""
    meaning = Server("redis://one").meaning(error)

    assert isinstance(meaning, Forbidden)
    assert meaning.refused


def test_what_is_refused_while_connecting_is_forbidden() -> None:
    """A database that is not there: nothing of ours was carried out, and the defect is not ours."""
    error = exceptions.ResponseError("ERR DB index is out of range")

    assert isinstance(Server("redis://one/99").meaning(error, connecting=True), Forbidden)
    assert isinstance(Server("redis://one/99").meaning(error), Defect)


@pytest.mark.parametrize(
    "error", [exceptions.TimeoutError("slow"), exceptions.ConnectionError("closed"), ConnectionResetError("reset")]
)
def test_a_call_without_an_answer_is_unknown(error: Exception) -> None:
    """It may have been carried out."""
    meaning = Server("redis://one").meaning(error)

    assert isinstance(meaning, Unavailable)
    assert not meaning.refused


def test_any_other_answer_is_a_defect_of_ours() -> None:
    """A script that raises must not be repeated for ever."""
    meaning = Server("redis://one").meaning(exceptions.ResponseError("ERR user_script:7: attempt to index nil"))

    assert isinstance(meaning, Defect)


def test_only_an_embedded_server_can_be_brought_back() -> None:
    """And it may be somewhere else then."""
    assert not Server("redis://one").recover()

    ours = Server("redis://one", lambda: "redis://two:7000")
    assert ours.recover()
    assert str(ours) == "two:7000"
