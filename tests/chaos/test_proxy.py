"""The fault proxy, on real servers: what it is told to harm is harmed, and nothing else."""

import socket
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from soloist.chaos.faults import Cut, Delay, Drop, Fault, HalfOpen, Stall, TooLate, Trickle
from soloist.chaos.proxy import FaultProxy
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.chaos.client import Client
from tests.servers import PrivateServer
from tests.waiting import wait_until

AN_HOUR = 3600.0
SCRIPT = "return { redis.call('INCR', KEYS[1]) }"
MEGABYTES = b"x" * 3 * 2**20


@pytest.fixture
def key(namespace: str) -> str:
    """A key that no other test uses."""
    return Keys(namespace).base + "proxied"


def names(client: Client, name: str) -> Client:
    """Give the connection a name by which the server lists it."""
    assert client.ask("CLIENT", "SETNAME", name) == b"OK"
    return client


def is_listed(direct: Client, name: str) -> bool:
    return f" name={name} " in direct.ask("CLIENT", "LIST").decode()


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
            link.script(digest, text, [key], [])

        assert [caught.name for caught in rule.caught] == ["EVAL"]
        assert direct.command("GET", key) == b"1"
        rule = proxy.rule(Delay(0.0), digest)
        assert link.script(digest, text, [key], []) == [2]
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


# Drop.


def test_a_lost_reply_is_of_a_command_that_was_carried_out(proxy: FaultProxy, client: Client, key: str) -> None:
    """The connection stays open and in step."""
    proxy.rule(Drop(), "INCR")

    assert client.send(("INCR", key), ("GET", key)).read() == b"1"
    assert client.ask("INCR", key) == 2


def test_a_lost_command_is_not_carried_out(proxy: FaultProxy, client: Client, key: str) -> None:
    rule = proxy.rule(Drop(of="command"), "INCR")

    assert client.send(("INCR", key), ("GET", key)).read() is None
    assert client.ask("INCR", key) == 1
    assert rule.caught[0].reply is None


@pytest.mark.parametrize(("drop", "carried_out"), [(Drop(), b"2"), (Drop(of="command"), None)])
def test_all_of_a_connection_is_lost_until_the_rule_is_disarmed(
    proxy: FaultProxy, client: Client, direct: Client, key: str, drop: Fault, carried_out: bytes | None
) -> None:
    client.ask("PING")
    rule = proxy.strike(drop)

    client.send(("INCR", key), ("INCR", key))
    wait_until(lambda: rule.count == 3, what="it has struck, and both were lost")
    rule.disarm()

    assert client.ask("PING") == b"PONG"
    assert direct.ask("GET", key) == carried_out


# Delay.


def test_a_held_reply_is_delivered_when_it_is_released_and_what_is_behind_it_stays_behind(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    client, other = connect(), connect()
    rule = proxy.rule(Delay(), "INCR")

    client.send(("INCR", key), ("ECHO", "behind"))
    rule.wait()
    assert direct.ask("GET", key) == b"1"
    assert other.ask("PING") == b"PONG"
    assert client.is_still
    rule.release()

    assert client.read() == 1
    assert client.read() == b"behind"


def test_a_delayed_reply_comes_by_itself(proxy: FaultProxy, client: Client, key: str) -> None:
    rule = proxy.rule(Delay(0.05), "INCR")

    assert client.ask("INCR", key) == 1
    assert rule.count == 1


def test_disarming_does_not_release(proxy: FaultProxy, connect: Callable[[], Client], key: str) -> None:
    client, other = connect(), connect()
    rule = proxy.rule(Delay(), "INCR", nth=None)
    client.send(("INCR", key))
    rule.wait()

    rule.disarm()
    assert other.ask("INCR", key) == 2
    assert client.is_still
    with rule:
        pass

    assert client.read() == 1


def test_a_held_command_arrives_late_although_its_client_has_hung_up(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    """A late copy: a call on a connection that was closed is still carried out."""
    impatient = connect()
    rule = proxy.rule(Delay(of="command"), "INCR")
    impatient.send(("INCR", key), ("INCR", key))
    rule.wait()
    impatient.hang_up()

    assert connect().ask("INCRBY", key, 10) == 10
    rule.release()

    wait_until(lambda: direct.ask("GET", key) == b"12", what="the late copies are carried out")
    wait_until(lambda: rule.caught[0].reply == b":11\r\n", what="the answer is known although nobody waits for it")


def test_all_of_a_connection_is_late(proxy: FaultProxy, client: Client, key: str) -> None:
    """Each command and each reply by so much."""
    client.ask("PING")

    with proxy.strike(Delay(0.01)) as replies, proxy.strike(Delay(0.01, of="command")) as commands:
        assert [client.ask("INCR", key) for _ in range(3)] == [1, 2, 3]

    assert (replies.count, commands.count) == (4, 4), "once when they struck, and three times each"
    assert client.ask("INCR", key) == 4


def test_a_reply_comes_too_late(proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str) -> None:
    """However long the client waits; unless the rule is released. What is behind it is still carried out."""
    patient, impatient = connect(), connect()
    rule = proxy.rule(TooLate(), "INCR", nth=None)
    patient.send(("INCR", key))
    impatient.send(("INCR", key), ("SET", key, "behind"))
    wait_until(lambda: rule.count == 2, what="both wait")
    assert direct.ask("GET", key) == b"behind"

    impatient.hang_up()
    wait_until(lambda: len(proxy.connections) == 1, what="the proxy is done with one of them")
    assert patient.is_still
    rule.release()

    assert patient.read() == 1


@pytest.mark.parametrize(("delay", "carried_out"), [(Delay(), b"2"), (Delay(of="command"), None)])
def test_all_of_a_connection_is_held_until_the_rule_is_released(
    proxy: FaultProxy, client: Client, direct: Client, key: str, delay: Fault, carried_out: bytes | None
) -> None:
    client.ask("PING")
    rule = proxy.strike(delay)

    client.send(("INCR", key), ("INCR", key))
    wait_until(lambda: rule.count == 2, what="it has struck, and the first is held")
    assert direct.ask("GET", key) == carried_out
    assert client.is_still
    rule.release()

    assert (client.read(), client.read()) == (1, 2)


# Cut.


@pytest.mark.parametrize(
    ("cut", "carried_out", "seen"),
    [
        (Cut(), b"1", EOFError),
        (Cut(of="command"), None, EOFError),
        (Cut(reset=True), b"1", ConnectionResetError),
        (Cut(reset=True, of="command"), None, ConnectionResetError),
    ],
)
def test_a_connection_is_cut_before_or_after_the_command_was_carried_out(
    proxy: FaultProxy,
    client: Client,
    direct: Client,
    key: str,
    cut: Fault,
    carried_out: bytes | None,
    seen: type[Exception],
) -> None:
    names(client, "to_be_cut")
    rule = proxy.rule(cut, "INCR")

    with pytest.raises(seen):
        client.ask("INCR", key)

    wait_until(lambda: not is_listed(direct, "to_be_cut"), what="the server sees that it is gone")
    assert direct.ask("GET", key) == carried_out
    assert rule.fired.is_set()


def test_whole_connections_are_cut_at_once(proxy: FaultProxy, connect: Callable[[], Client], key: str) -> None:
    """Those that are meant."""
    subscriber, other = connect(), connect()
    subscriber.ask("SSUBSCRIBE", key)
    other.ask("PING")

    proxy.strike(Cut(), on=lambda connection: connection.has_sent("SSUBSCRIBE"))

    with pytest.raises(EOFError):
        subscriber.read()
    assert other.ask("PING") == b"PONG"


# Stall.


def test_on_a_stalled_connection_nothing_moves_until_it_is_released(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    """From a certain reply on, in both directions."""
    client, other = connect(), connect()
    rule = proxy.rule(Stall(), "INCR")

    client.send(("INCR", key))
    rule.wait()
    client.send(("INCR", key))
    assert other.ask("INCR", key) == 2
    assert direct.ask("GET", key) == b"2"
    assert client.is_still
    rule.release()

    assert (client.read(), client.read()) == (1, 3)


def test_whole_connections_are_stalled_at_once_and_new_ones_too(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    """Also what the server sends by itself, and an end."""
    subscriber, leaving = connect(), names(connect(), "leaving")
    subscriber.ask("SSUBSCRIBE", key)
    rule = proxy.strike(Stall(), lasting=True)
    newcomer = connect()

    leaving.hang_up()
    newcomer.send(("INCR", key))
    assert direct.ask("SPUBLISH", key, "text") == 1
    wait_until(lambda: rule.count == 3, what="the new one is stalled as well")
    assert is_listed(direct, "leaving")
    assert direct.ask("GET", key) is None
    assert subscriber.is_still
    rule.release()

    assert subscriber.read() == [b"smessage", key.encode(), b"text"]
    assert newcomer.read() == 1
    wait_until(lambda: not is_listed(direct, "leaving"), what="the server sees that it is gone")
    assert connect().ask("PING") == b"PONG"


# Trickle.


def test_a_reply_comes_in_small_pieces(proxy: FaultProxy, client: Client) -> None:
    """The first three bytes; the next ones in an hour."""
    proxy.rule(Trickle(3, pause=AN_HOUR), "ECHO")

    client.send(("ECHO", "slowly"))

    assert client.socket.recv(100) == b"$6\r"


@pytest.mark.parametrize("trickle", [Trickle(pause=0.0), Trickle(pause=0.0, of="command")])
def test_all_of_a_connection_comes_in_small_pieces_and_is_whole_in_the_end(
    proxy: FaultProxy, client: Client, trickle: Fault
) -> None:
    client.ask("PING")
    rule = proxy.strike(trickle)

    assert [client.ask("ECHO", text) for text in ("one", "two", "x" * 500)] == [b"one", b"two", b"x" * 500]
    assert rule.count == 4


def test_a_stall_interrupts_what_trickles(proxy: FaultProxy, client: Client) -> None:
    proxy.rule(Trickle(pause=0.01), "ECHO")
    client.send(("ECHO", "slowly"))
    assert client.socket.recv(1) == b"$"

    with proxy.strike(Stall()):
        pass

    assert client.socket.recv(1) == b"6"


# Half-open.


def test_of_a_half_open_connection_the_server_is_told_and_the_client_is_not(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    """What it sends goes nowhere; it may hang up in the end."""
    client, other = names(connect(), "half_open"), connect()
    rule = proxy.rule(HalfOpen(), "INCR")
    client.send(("INCR", key), ("INCR", key))

    rule.wait()
    wait_until(lambda: not is_listed(direct, "half_open"), what="the server sees that it is gone")
    client.send(("SET", key, "nowhere"))
    assert other.ask("PING") == b"PONG"
    assert client.is_still
    assert direct.ask("GET", key) != b"nowhere"
    client.hang_up()

    wait_until(lambda: len(proxy.connections) == 1, what="the proxy has forgotten it")


def test_of_a_half_open_connection_the_client_is_told_and_the_server_is_not(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    """Its subscription goes on counting, and what it is sent goes nowhere; the server may hang up in the end."""
    client = names(connect(), "half_open")
    client.ask("SSUBSCRIBE", key)

    proxy.strike(HalfOpen("client"), on=lambda connection: connection.has_sent("SSUBSCRIBE"))

    with pytest.raises(EOFError):
        client.read()
    client.hang_up()
    assert connect().ask("PING") == b"PONG"
    assert direct.ask("SPUBLISH", key, "nowhere") == 1
    assert is_listed(direct, "half_open")
    direct.ask("CLIENT", "KILL", "TYPE", "pubsub")
    wait_until(lambda: len(proxy.connections) == 1, what="the proxy has forgotten it")


def test_whole_connections_become_half_open_at_once_and_new_ones_too(
    proxy: FaultProxy, connect: Callable[[], Client], direct: Client, key: str
) -> None:
    client = names(connect(), "half_open")
    rule = proxy.strike(HalfOpen(), lasting=True)
    newcomer = connect()

    newcomer.send(("SET", key, "nowhere"))
    wait_until(lambda: not is_listed(direct, "half_open"), what="the server sees that it is gone")
    wait_until(lambda: rule.count == 2, what="the new one is half-open as well")
    rule.release()

    assert connect().ask("GET", key) is None
    assert client.is_still
    assert newcomer.is_still
