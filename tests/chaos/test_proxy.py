"""The fault proxy, on real servers: what it is told to harm is harmed, and nothing else."""

import socket
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from soloist.chaos.faults import Cut, Delay, Drop
from soloist.chaos.proxy import FaultProxy
from soloist.store.link import Link
from soloist.store.server import Server
from tests.chaos.client import Client, is_listed, names
from tests.servers import PrivateServer
from tests.waiting import wait_until

SCRIPT = "return { redis.call('INCR', KEYS[1]) }"
MEGABYTES = b"x" * 3 * 2**20


# What is not to be harmed.


def test_all_goes_through_as_it_is(client: Client, key: str) -> None:
    """Many commands at once, replies of all sorts, in order."""
    client.send(*(("INCR", key) for _ in range(1000)), ("NOTHING",), ("LRANGE", key + "no", 0, -1), ("GET", key))

    assert [client.read() for _ in range(1000)] == list(range(1, 1001))
    assert "unknown command" in str(client.read())
    assert client.read() == []
    assert client.read() == b"1000"


def test_large_bodies_go_through_in_both_directions(proxy: FaultProxy, client: Client, key: str) -> None:
    """Whole, and so that what is behind them is still recognized."""
    dropped = proxy.rule(Drop(), "PING")

    client.send(("SET", key, MEGABYTES), ("GET", key), ("PING",), ("STRLEN", key))

    assert client.read() == b"OK"
    assert client.read() == MEGABYTES
    assert client.read() == len(MEGABYTES)
    assert dropped.count == 1


def test_publications_go_through_although_nobody_asked(
    proxy: FaultProxy, client: Client, direct: Client, key: str
) -> None:
    """A subscriber's connection: confirmation, publications, and the answers to its pings."""
    pongs = proxy.rule(Drop(), "PING", nth=2)
    assert client.ask("SSUBSCRIBE", key) == [b"ssubscribe", key.encode(), 1]

    direct.ask("SPUBLISH", key, "one")
    assert client.read() == [b"smessage", key.encode(), b"one"]
    assert client.ask("PING", "first") == [b"pong", b"first"]
    client.send(("PING", "second"))
    pongs.wait()
    direct.ask("SPUBLISH", key, "two")

    assert client.read() == [b"smessage", key.encode(), b"two"]
    assert client.ask("PING", "third") == [b"pong", b"third"]


def test_pushes_of_the_newer_protocol_go_through(proxy: FaultProxy, client: Client, direct: Client, key: str) -> None:
    """RESP3: a subscriber may send any command; publications come in between."""
    dropped = proxy.rule(Drop(), "GET")
    client.ask("HELLO", 3)
    assert client.ask("SSUBSCRIBE", key) == [b"ssubscribe", key.encode(), 1]
    direct.ask("SPUBLISH", key, "one")
    assert client.read() == [b"smessage", key.encode(), b"one"]

    client.send(("GET", key), ("ECHO", "behind"))

    assert client.read() == b"behind"
    assert dropped.caught[0].reply == b"_\r\n"


def test_a_server_that_is_not_there_hangs_up() -> None:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        with FaultProxy(*nobody.getsockname()) as proxy, closing(Client(proxy.address).socket) as client:
            assert client.recv(1) == b""


def test_at_the_end_all_connections_are_closed(server: PrivateServer, direct: Client, key: str) -> None:
    """Also those that were held up, on both ends."""
    with FaultProxy("127.0.0.1", server.port) as proxy:
        client = names(Client(proxy.address), "leftover")
        held = proxy.rule(Delay(), "PING")
        client.send(("PING",))
        held.wait()
        assert len(proxy.connections) == 1

    with closing(client.socket), pytest.raises((EOFError, ConnectionResetError)):
        client.read()
    wait_until(lambda: not is_listed(direct, "leftover"), what="the server sees that it is gone")
    assert proxy.connections == []
    held.release()


# Which ones are harmed, and how one gets to know.


def test_the_nth_is_harmed_and_no_other(proxy: FaultProxy, connect: Callable[[], Client], key: str) -> None:
    """Counted over all connections, from the moment on when the rule was made."""
    one, other = connect(), connect()
    one.ask("INCR", key)
    rule = proxy.rule(Drop(), "INCR", nth=3)

    assert one.ask("INCR", key) == 2
    assert other.ask("INCR", key) == 3
    assert not rule.fired.is_set()
    assert other.send(("INCR", key), ("INCR", key)).read() == 5

    assert rule.fired.is_set()
    assert (rule.seen, rule.count) == (3, 1)
    assert [caught.reply for caught in rule.caught] == [b":4\r\n"]


def test_every_one_is_harmed_until_the_rule_is_disarmed(proxy: FaultProxy, client: Client, key: str) -> None:
    rule = proxy.rule(Drop(), "INCR", nth=None)
    assert client.send(*[("INCR", key)] * 5, ("PING",)).read() == b"PONG"
    rule.disarm()

    assert client.ask("INCR", key) == 6
    assert rule.count == 5


def test_rules_count_what_another_has_swallowed(proxy: FaultProxy, client: Client, key: str) -> None:
    """The first and the second: two rules, each with its own."""
    first, second = proxy.rule(Drop(), "INCR", nth=1), proxy.rule(Drop(), "INCR", nth=2)

    assert client.send(*[("INCR", key)] * 3).read() == 3
    assert [rule.caught[0].reply for rule in (first, second)] == [b":1\r\n", b":2\r\n"]


def test_a_look_at_the_words_decides(proxy: FaultProxy, client: Client, key: str) -> None:
    rule = proxy.rule(Drop(of="command"), lambda command: b"this" in command.words)

    assert client.send(("ECHO", "that"), ("ECHO", "this"), ("ECHO", "the other")).read() == b"that"
    assert client.read() == b"the other"
    assert rule.caught[0].words == [b"ECHO", b"this"]


def test_a_look_at_the_reply_decides(proxy: FaultProxy, client: Client, key: str) -> None:
    rule = proxy.rule(Drop(), "INCR", answering=b":3\r\n")

    assert client.send(*[("INCR", key)] * 4).read() == 1
    assert (client.read(), client.read()) == (2, 4)
    assert rule.seen == 1


def test_a_connection_is_known_by_what_it_has_sent(proxy: FaultProxy, connect: Callable[[], Client], key: str) -> None:
    subscriber, other = connect(), connect()
    subscriber.ask("SSUBSCRIBE", key)
    rule = proxy.rule(Drop(), "PING", on=lambda connection: connection.has_sent("ssubscribe"))

    assert other.ask("PING") == b"PONG"
    assert subscriber.send(("PING", "lost"), ("PING", "behind")).read() == [b"pong", b"behind"]
    assert rule.seen == 1
    assert sorted(str(connection.last) for connection in proxy.connections) == ["PING", "PING"]


def test_a_script_is_harmed_when_it_is_carried_out(proxy: FaultProxy, server: PrivateServer, key: str) -> None:
    """A digest that the server does not know is no call yet: the text that is sent next is."""
    text = f"{SCRIPT} -- {key}"
    with (
        closing(Link(Server(server.url), timeout=5)) as direct,
        closing(Link(Server(proxy.url()), timeout=5)) as link,
    ):
        digest = direct.command("SCRIPT", "LOAD", text).decode()
        direct.command("SCRIPT", "FLUSH")
        rule = proxy.rule(Cut(), digest)

        with pytest.raises(Exception, match="cannot be reached"):
            link.begin_script(digest, text, [key], [])()

        assert [caught.name for caught in rule.caught] == ["EVAL"]
        assert direct.command("GET", key) == b"1"
        rule = proxy.rule(Delay(0.0), digest)
        assert link.begin_script(digest, text, [key], [])() == [2]
        assert [caught.name for caught in rule.caught] == ["EVALSHA"]


def test_a_mistake_in_a_rule_is_not_overlooked(server: PrivateServer) -> None:
    """It is raised where the proxy ends; the connection is closed at once."""
    with ExitStack() as ending:
        proxy = ending.enter_context(FaultProxy("127.0.0.1", server.port))
        proxy.rule(Drop(), lambda _command: bool(1 / 0))
        with closing(Client(proxy.address).socket) as client:
            client.sendall(b"PING\r\n")
            assert client.recv(1) == b""

        with pytest.raises(ZeroDivisionError):
            ending.close()


def test_waiting_in_vain_has_an_end(proxy: FaultProxy, client: Client) -> None:
    rule = proxy.rule(Drop(), "PING", nth=2)
    client.ask("PING")

    with pytest.raises(TimeoutError, match=r"Drop\(of='reply'\) has not happened within 0.01 s, 1 were seen"):
        rule.wait(0.01)
