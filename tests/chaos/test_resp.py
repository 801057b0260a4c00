"""Framing: a stream is cut where one command or reply ends, and replies find their commands."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soloist.chaos.resp import Command, Frames, Pairing


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


def array(*values: bytes, kind: bytes = b"*") -> bytes:
    return b"%b%d\r\n%b" % (kind, len(values), b"".join(values))


def command(*words: bytes) -> Command:
    return Command(array(*map(bulk, words)))


leaves = st.one_of(
    st.binary(max_size=40).map(bulk),
    st.sampled_from(
        [b"+OK\r\n", b"-ERR no\r\n", b":-17\r\n", b"$-1\r\n", b"*-1\r\n", b"_\r\n", b"#t\r\n", b",1.5\r\n"]
    ),
    st.sampled_from([b"(12345678901234567890\r\n", b"=7\r\ntxt:a\r\n\r\n", b"!5\r\nERR x\r\n"]),
)


def nested(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    several = st.lists(values, max_size=4)
    pairs = st.lists(st.tuples(values, values).map(b"".join), max_size=3)
    return st.one_of(
        several.map(lambda each: array(*each)),
        several.map(lambda each: array(*each, kind=b"~")),
        pairs.map(lambda each: array(*each, kind=b"%")),
        st.tuples(pairs.map(lambda each: array(*each, kind=b"|")), values).map(b"".join),
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(st.lists(st.recursive(leaves, nested, max_leaves=12), max_size=6), st.data())
def test_frames_come_out_as_they_went_in_however_they_arrive(frames: list[bytes], data: st.DataObject) -> None:
    """All types of RESP2 and RESP3, nested, cut into pieces anywhere."""
    stream, cutter = b"".join(frames), Frames()
    cuts = data.draw(st.lists(st.integers(0, len(stream))).map(sorted))

    pieces = [stream[begin:end] for begin, end in pairwise([0, *cuts, len(stream)])]

    assert [frame for piece in pieces for frame in cutter.feed(piece)] == frames


def test_a_command_is_known_by_its_words() -> None:
    """In any case, with any bytes in it; also one typed by hand."""
    assert command(b"set", b"key", b"a\r\n$1\r\nb").words == [b"set", b"key", b"a\r\n$1\r\nb"]
    assert command(b"bLpOp", b"bell", b"0").calls("BLPOP")
    assert not command(b"BLPOP", b"bell", b"0").calls("BLMPOP")
    assert Command(b"PING hello\r\n").words == [b"PING", b"hello"]
    assert command(b"PING").script is None


def test_a_script_is_known_by_its_digest_however_it_is_called() -> None:
    """By text it is the same script."""
    digest = "a42059b356c875f0717db19a51f6aaca9ae659ea"

    assert command(b"EVALSHA", digest.upper().encode(), b"0").calls(digest)
    assert command(b"EVAL", b"return 2", b"0").script == "7f923f79fe76194c868d7e1d0820de36700eb649"
    assert not command(b"SET", digest.encode(), b"0").calls(digest)


@pytest.fixture
def pairing() -> Pairing:
    return Pairing()


def test_commands_are_answered_in_their_order(pairing: Pairing) -> None:
    """Also with something that looks like a publication: nobody has subscribed."""
    first, second = command(b"LRANGE", b"list", b"0", b"-1"), command(b"PING")
    pairing.sent(first)
    pairing.sent(second)
    looks_like = array(bulk(b"message"), bulk(b"channel"), bulk(b"text"))

    assert pairing.answered(looks_like) is first
    assert pairing.answered(b"+PONG\r\n") is second
    assert (first.reply, second.reply) == (looks_like, b"+PONG\r\n")
    assert pairing.answered(b"-ERR max number of clients reached\r\n") is None


@pytest.mark.parametrize("kind", [b"*", b">"])
def test_what_a_subscriber_is_sent_answers_nothing(pairing: Pairing, kind: bytes) -> None:
    """A subscription is confirmed once for each channel; then publications come in between."""
    subscribe, ping = command(b"SSUBSCRIBE", b"{c}1", b"{c}2"), command(b"PING")
    pairing.sent(subscribe)
    pairing.sent(ping)
    first, second = (array(bulk(b"ssubscribe"), bulk(b"{c}%d" % n), b":%d\r\n" % n, kind=kind) for n in (1, 2))
    publication = array(bulk(b"smessage"), bulk(b"{c}1"), bulk(b"text"), kind=kind)
    pong = array(bulk(b"pong"), bulk(b""))

    assert pairing.answered(first) is subscribe
    assert pairing.answered(publication) is None
    assert pairing.answered(second) is subscribe
    assert pairing.answered(publication) is None
    assert pairing.answered(pong) is ping
    assert pairing.answered(array(bulk(b"sunsubscribe"), bulk(b"{c}1"), b":1\r\n", kind=kind)) is None


def test_a_push_never_answers_anything(pairing: Pairing) -> None:
    """Invalidations and the like come at any time (RESP3)."""
    get = command(b"GET", b"key")
    pairing.sent(get)

    assert pairing.answered(array(bulk(b"invalidate"), array(bulk(b"key")), kind=b">")) is None
    assert pairing.answered(bulk(b"value")) is get


def test_a_refused_subscription_is_answered_once(pairing: Pairing) -> None:
    refused, ping = command(b"SSUBSCRIBE", b"a", b"b"), command(b"PING")
    pairing.sent(refused)
    pairing.sent(ping)

    assert pairing.answered(b"-NOPERM no\r\n") is refused
    assert pairing.answered(b"+PONG\r\n") is ping
