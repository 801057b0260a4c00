"""target.py, cli/connection.py: which server and which namespace the options come to."""

import os
from pathlib import Path
from typing import Any

import pytest

from soloist import App, target
from soloist import settings as all_settings
from soloist.cli.connection import CONNECTION, flags, option_name
from soloist.errors import UsageError
from soloist.settings import NAMES
from soloist.store.server import Server
from soloist.target import Target, resolve


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no soloist.toml, no embedded server but a stand-in."""
    for variable in [name for name in os.environ if name.startswith(all_settings.ENVIRONMENT_PREFIX)]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(target, "_embedded", lambda: Server("redis://stand-in:1"))


def target_of(name: str | None = None, *, needs_connection: bool = False, **given: Any) -> Target:
    return target_of_app(App(name) if name else None, needs_connection=needs_connection, **given)


def target_of_app(app: App | None, *, needs_connection: bool = False, **given: Any) -> Target:
    nothing = dict.fromkeys([*map(option_name, CONNECTION), *NAMES])
    return resolve(flags({**nothing, **given}), app, needs_connection=needs_connection)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"url": "redis://one:7000/2"}, "one:7000 database 2"),
        ({"url": "rediss://one"}, "one:6379"),
        ({"url": "unix:///run/redis.sock"}, "unix:/run/redis.sock"),
        ({"addr": "one:7000"}, "one:7000"),
        ({"addr": "[::1]:7000"}, "::1:7000"),
        ({"host": "one"}, "one:6379"),
        ({"port": 7000}, "localhost:7000"),
        ({"db": 2}, "localhost:6379 database 2"),
        ({"db": 0}, "localhost:6379"),
        ({"host": "one", "port": 7000, "db": 2}, "one:7000 database 2"),
        ({"host": "::1"}, "::1:6379"),
    ],
)
def test_the_server_is_named_in_several_ways(given: dict[str, Any], where: str) -> None:
    """--url, --addr, or any one of --host, --port and --db: the rest is localhost, 6379, 0."""
    goal = target_of(**given)

    assert goal.where == where
    assert not goal.embedded


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"url": "redis://one", "addr": "one:1"}, "--url, --addr"),
        ({"addr": "one:1", "db": 0}, "--addr, --host"),
        ({"url": "redis://one", "embedded": True}, "--url, --embedded"),
    ],
)
def test_the_server_is_named_in_one_way_only(given: dict[str, Any], named: str) -> None:
    """Two ways could disagree."""
    with pytest.raises(UsageError, match=f"{named}: name the server in one way only"):
        target_of(**given)


@pytest.mark.parametrize("address", ["one", "one:", ":7000", "one:port", "one:0", "one:65536", ""])
def test_an_address_is_host_and_port(address: str) -> None:
    """Anything else is quoted and refused, also nothing at all."""
    with pytest.raises(UsageError, match=r"--addr: .* is not HOST:PORT"):
        target_of(addr=address)


def test_nothing_named_is_the_embedded_server() -> None:
    """The default application runs without anything being installed or named."""
    assert target_of().embedded


def test_embedded_is_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag is a flag."""
    monkeypatch.setenv("SOLOIST_URL", "redis://one")

    assert not target_of().embedded
    assert target_of(embedded=True).embedded


def test_your_own_app_needs_a_server_that_is_named() -> None:
    """Else N hosts would each start a server of their own; --embedded says that this is meant."""
    with pytest.raises(UsageError, match="--url, --addr or SOLOIST_URL"):
        target_of("orders", needs_connection=True)
    assert target_of("orders", needs_connection=True, embedded=True).embedded
    assert not target_of("orders", needs_connection=True, addr="one:1").embedded


def test_the_namespace_is_the_flag_the_setting_the_app_or_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order."""
    assert target_of().namespace == "demo"
    assert target_of("orders").namespace == "orders"
    monkeypatch.setenv("SOLOIST_NAMESPACE", "environment")
    assert target_of("orders").namespace == "environment"
    assert target_of("orders", namespace="flag").namespace == "flag"


@pytest.mark.parametrize("name", ["a b", "a}b", "ä", "a\n", "x" * 129])
def test_a_namespace_can_stand_in_a_key(name: str) -> None:
    """A bad one is refused before anything is connected to."""
    with pytest.raises(UsageError, match="--namespace must be"):
        target_of(namespace=name)


def test_a_bad_namespace_names_the_variable_that_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody finds a mistake in a place where it is not."""
    monkeypatch.setenv("SOLOIST_NAMESPACE", "a b")

    with pytest.raises(UsageError, match="SOLOIST_NAMESPACE"):
        target_of()


def test_a_bad_url_names_the_variable_that_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the server."""
    monkeypatch.setenv("SOLOIST_URL", "http://one")

    with pytest.raises(UsageError, match="SOLOIST_URL"):
        target_of()


def test_a_bad_url_names_the_file_that_it_came_from() -> None:
    """And for the file."""
    Path("soloist.toml").write_text('url = "http://one"\n')

    with pytest.raises(UsageError, match=r"soloist\.toml"):
        target_of()


def test_an_app_may_name_its_server_and_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing else need be said; but environment and flags are stronger, and --embedded leaves it all aside."""
    app = App("orders", url="redis://code:1", namespace="shop")

    goal = target_of_app(app, needs_connection=True)
    assert (goal.where, goal.namespace) == ("code:1", "shop")
    assert target_of_app(app, addr="flag:2").where == "flag:2"
    assert target_of_app(app, embedded=True).embedded
    monkeypatch.setenv("SOLOIST_URL", "redis://environment:3")
    monkeypatch.setenv("SOLOIST_NAMESPACE", "other")
    goal = target_of_app(app, needs_connection=True)
    assert (goal.where, goal.namespace) == ("environment:3", "other")


def test_a_url_in_code_that_cannot_be_read_is_told_with_its_place() -> None:
    """The file and line of the App."""
    with pytest.raises(UsageError, match=r"App 'orders' \(test_connection.py, line \d+\): url: "):
        target_of_app(App("orders", url="http://nowhere"), needs_connection=True)


def test_a_namespace_in_code_that_is_none_is_told_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"App 'orders' \(test_connection.py, line \d+\): namespace must be 1 to 128"):
        target_of_app(App("orders", namespace="two words"), embedded=True)
