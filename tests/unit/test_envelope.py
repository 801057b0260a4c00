"""store/envelope.py: one string per message, which loses nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.store.envelope import NAME, Envelope, id_of, kind_of, pack, pack_page, unpack

names = st.from_regex(NAME, fullmatch=True)
tags = st.from_regex(r"[a-z2-9]{7}", fullmatch=True)
ids = st.builds(lambda number, tag: f"{number}-{tag}", st.integers(1, 2**53), tags)
keys = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"hello world",
        b"two\nlines\r\n",
        b"\x00",
        b"a\x00b",
        bytes(range(256)),
        "Größe → 字".encode(),
        b"7 8 9 ",
    ],
)
def test_a_body_comes_back_byte_for_byte(body: bytes) -> None:
    """Nothing, blanks, line ends, NUL, bytes that are no text, digits that look like a head."""
    envelope = pack("12-abc", "order.created", 1_700_000_000_123, body)

    assert unpack(envelope) == Envelope("12-abc", "order.created", 1_700_000_000_123, "12-abc", b"", body)


def test_without_a_key_the_id_is_the_key() -> None:
    """And costs nothing on the wire."""
    envelope = pack("12-abc", "default", 5, b"body")

    assert unpack(envelope).key == "12-abc"
    assert envelope == b"12-abc default 1 5 0 0 body"


@pytest.mark.parametrize("key", ["order:7", "with blank", "line\nend", "NUL\x00", "Größe", " ", "0"])
def test_a_key_comes_back_whatever_is_in_it(key: str) -> None:
    """It is cut by its length in bytes, not by what follows it."""
    parts = unpack(pack("12-abc", "default", 5, b"body", key=key.encode()))

    assert (parts.key, parts.body) == (key, b"body")


def test_headers_stand_between_key_and_body() -> None:
    """Each by its own length, also when the others are empty."""
    headers = b'{"trace": "a b\\n"}'

    assert unpack(pack("1-a", "k", 5, b"", headers=headers)) == Envelope("1-a", "k", 5, "1-a", headers, b"")
    assert unpack(pack("1-a", "k", 5, b"b", b"key", headers)) == Envelope("1-a", "k", 5, "key", headers, b"b")


@given(ids, names, st.integers(0, 2**53), st.binary(), keys, st.binary())
def test_what_was_packed_is_unpacked(
    message_id: str, kind: str, at: int, body: bytes, key: str, headers: bytes
) -> None:
    """For every message there can be."""
    envelope = pack(message_id, kind, at, body, key.encode(), headers)

    assert unpack(envelope) == Envelope(message_id, kind, at, key or message_id, headers, body)
    assert id_of(envelope) == message_id.encode()
    assert kind_of(envelope) == kind


@given(st.integers(1, 2**53), tags, names, st.integers(0, 2**53), st.lists(st.binary(), max_size=20))
def test_a_page_is_packed_as_its_messages_would_be(
    first: int, tag: str, kind: str, at: int, bodies: list[bytes]
) -> None:
    """Byte for byte, numbered one after another from the first; also a page of nothing."""
    one_by_one = [pack(f"{first + behind}-{tag}", kind, at, body) for behind, body in enumerate(bodies)]

    assert pack_page(first, tag, kind, at, bodies) == one_by_one


@pytest.mark.parametrize("body", [b"", b" ", b"100% %d %b %s", b"%", b"\x00\xff", b"7 8 9 "])
def test_a_body_in_a_page_is_not_read(body: bytes) -> None:
    """Whatever looks like a format or like a head in it; and a page may be any iterable."""
    assert pack_page(9, "tag", "default", 5, iter([body, body])) == [
        b"9-tag default 1 5 0 0 " + body,
        b"10-tag default 1 5 0 0 " + body,
    ]


@given(ids, names, st.binary(), st.binary())
def test_a_script_finds_id_and_kind_at_the_beginning(message_id: str, kind: str, body: bytes, key: bytes) -> None:
    """`ID KIND `, by the patterns that lua/lib/kinds.lua uses; it need know nothing else."""
    envelope = pack(message_id, kind, 5, body, key)
    found = re.match(rb"([^ ]+) ([^ ]+) ", envelope)

    assert found is not None
    assert found.groups() == (message_id.encode(), kind.encode())


@pytest.mark.parametrize("name", ["", "a b", "a\n", "ä", "a{b}", "x" * 129, "a,b", "*"])
def test_a_name_cannot_break_an_envelope_or_a_key(name: str) -> None:
    """No blank, no brace, no line end, not too long."""
    assert NAME.fullmatch(name) is None


@pytest.mark.parametrize("name", ["a", "order.created", "Shop:orders/eu-1_x", "x" * 128])
def test_ordinary_names_are_names(name: str) -> None:
    """Letters, digits and what separates words."""
    assert NAME.fullmatch(name)
