"""Every fault, on real servers: to one command or reply, and to a connection as a whole."""

from collections.abc import Callable

import pytest

from soloist.chaos.faults import Cut, Delay, Drop, Fault, HalfOpen, Stall, TooLate, Trickle
from soloist.chaos.proxy import FaultProxy
from tests.chaos.client import Client, is_listed, names
from tests.waiting import wait_until

AN_HOUR = 3600.0

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
