"""plug.py: the server as one instance sees it, until its plug is pulled."""

import threading
from contextlib import closing

import pytest

from soloist.errors import Unavailable
from soloist.store.link import Link
from soloist.store.plug import Plug, Unplugged
from soloist.store.server import Server
from tests.servers import Store
from tests.waiting import wait_until


def connected(store: Store, ident: int) -> bool:
    """Whether the server knows this client."""
    return any(f"id={ident} " in line for line in store.link.command("CLIENT", "LIST").decode().splitlines())


def test_all_connections_end_when_it_is_pulled_and_no_other_is_made(store: Store) -> None:
    """The one that waits is told so, and whoever tries again ends; the server sees them go."""
    plug, raised = Plug(store.server.url), list[BaseException]()
    idle, waiting = Link(plug, timeout=30), Link(plug, timeout=30)
    clients = [link.command("CLIENT", "ID") for link in (idle, waiting)]

    def wait() -> None:
        try:
            waiting.command("BLPOP", store.keys.bell("never"), 25)
        except BaseException as error:  # noqa: BLE001 - looked at below
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: b"cmd=blpop" in store.link.command("CLIENT", "LIST"), what="it waits")

    plug.pull()

    thread.join(20)
    assert [type(error) for error in raised] == [Unavailable]
    wait_until(lambda: not any(connected(store, client) for client in clients), what="the server sees them go")
    with pytest.raises(Unavailable):
        idle.command("PING")
    for link in (idle, waiting, Link(plug, timeout=5)):
        with pytest.raises(Unplugged):
            link.command("SET", store.keys.bell("never"), "a last word")
    assert store.link.command("EXISTS", store.keys.bell("never")) == 0


def test_a_connection_in_the_making_is_dropped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulled in that moment, it has no socket yet that could be shut."""
    plug, connect = Plug(store.server.url), Server.connect

    def pulled_meanwhile(server: Server, connection: object) -> None:
        connect(server, connection)  # type: ignore[arg-type]  # it is one
        plug.is_pulled = True

    link = Link(plug, timeout=5)
    monkeypatch.setattr(Server, "connect", pulled_meanwhile)
    with pytest.raises(Unplugged):
        link.command("SET", store.keys.bell("never"), "a last word")
    assert store.link.command("EXISTS", store.keys.bell("never")) == 0


def test_others_on_the_same_server_go_on(store: Store) -> None:
    """Each instance has a plug of its own."""
    plug, other = Plug(store.server.url), Plug(store.server.url)
    with closing(Link(other, timeout=5)) as link:
        link.command("PING")
        plug.pull()
        assert link.command("PING")
