"""message.py: what a handler is given, and what a source may return."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from soloist import message as module
from soloist.message import Details, Message, encode_body
from soloist.store.envelope import pack, unpack


class Order(msgspec.Struct):
    id: int
    item: str


def message(body: bytes = b"hello", key: str = "", attempt: int = 1) -> Message:
    return Message(pack("12-tag", "order.created", 1_700_000_000_250, body, key=key.encode()), attempt)


def test_a_message_tells_what_it_is() -> None:
    """Id, kind, when it was published (seconds), which attempt this is."""
    given = message(attempt=3)

    assert (given.id, given.kind, given.attempt) == ("12-tag", "order.created", 3)
    assert given.published_at == 1_700_000_000.25


def test_the_id_is_known_without_taking_the_message_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for on every way; the rest is taken apart when it is first asked for, and once."""
    calls: list[bytes] = []

    def counting(envelope: bytes) -> Any:
        calls.append(envelope)
        return unpack(envelope)

    monkeypatch.setattr(module, "unpack", counting)
    given = message(b"a body with blanks")

    assert (given.id, given.attempt, len(calls)) == ("12-tag", 1, 0)
    assert (given.kind, given.key, given.body, given.data) == (
        "order.created",
        "12-tag",
        "a body with blanks",
        b"a body with blanks",
    )
    assert len(calls) == 1


def test_the_id_is_that_of_the_envelope_whatever_its_key() -> None:
    """With a key of its own the id stays."""
    assert message(key="order:7").id == "12-tag"


def test_a_message_is_the_first_attempt_unless_told_otherwise() -> None:
    """And is known by itself: a handler may keep messages in a set, and two deliveries are two."""
    one, other = message(), Message(pack("12-tag", "order.created", 1_700_000_000_250, b"hello"))

    assert (one.attempt, other.attempt) == (1, 1)
    assert one == one  # noqa: PLR0124 - that is the question
    assert one != other
    assert len({one, other, one}) == 2


def test_the_idempotency_key_is_the_sources_own_else_the_id() -> None:
    """So every message has one."""
    assert message(key="order:7").key == "order:7"
    assert message().key == "12-tag"


@pytest.mark.parametrize("body", [b"", b"hello", "Größe".encode(), b"a\nb c\x00"])
def test_the_body_is_there_as_bytes_and_as_text(body: bytes) -> None:
    """As it was published."""
    assert message(body).data == body
    assert message(body).body == body.decode()


def test_bytes_that_are_no_text_do_not_break_a_handler() -> None:
    """`.body` has replacement characters, `.data` has the bytes."""
    given = message(b"a\xffb")

    assert given.body == "a\ufffdb"
    assert given.data == b"a\xffb"


def test_a_body_is_read_as_json() -> None:
    """As plain values, or checked against a type."""
    given = message(b'{"id": 7, "item": "tea"}')

    assert given.json() == {"id": 7, "item": "tea"}
    assert given.json(Order) == Order(7, "tea")


@pytest.mark.parametrize(("body", "type_"), [(b"no json", Any), (b'{"id": "seven", "item": "tea"}', Order)])
def test_json_that_does_not_fit_is_an_error_of_the_message(body: bytes, type_: Any) -> None:
    """The handler fails, and the message goes to the error store."""
    with pytest.raises(msgspec.DecodeError):
        message(body).json(type_)


def test_a_message_says_who_it_is_in_a_log_but_not_what_is_in_it() -> None:
    """Bodies may be private; also to rich, as in a traceback with locals."""
    given = message(b"secret", key="private", attempt=2)

    assert repr(given) == str(given) == "<Message 12-tag of kind order.created, attempt 2>"
    assert given.__rich_repr__() == [("id", "12-tag"), ("kind", "order.created"), ("attempt", 2)]


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("Größe", "Größe".encode()),
        ("", b""),
        (b"\x00\xff", b"\x00\xff"),
        ({"a": [1, None, True]}, b'{"a":[1,null,true]}'),
        ([1, 2], b"[1,2]"),
        (7, b"7"),
        (False, b"false"),
        (Order(7, "tea"), b'{"id":7,"item":"tea"}'),
    ],
)
def test_a_source_returns_text_bytes_or_anything_that_is_json(value: Any, body: bytes) -> None:
    """Text and bytes as they are."""
    assert encode_body(value) == body


def test_what_is_no_json_is_an_error_of_the_source() -> None:
    """It is not stored as something else."""
    with pytest.raises(TypeError):
        encode_body(object())


def test_details_without_a_traceback_take_no_room_for_one() -> None:
    """A rejected message has none; scripts measure details by their length."""
    details = Details(reason="why", type="Reject", handler="ann", attempts=1)
    stored = msgspec.json.encode(details)

    assert b"traceback" not in stored
    assert msgspec.json.decode(stored, type=Details) == details


def test_a_message_made_by_hand_is_what_a_source_would_have_published() -> None:
    """So that a handler can be called in a test: same encoding, same key, which is the id unless one is given."""
    made = Message.fake("order.created", {"id": 7, "item": "tea"}, key="order-7", attempt=2)

    assert (made.kind, made.key, made.attempt) == ("order.created", "order-7", 2)
    assert made.json(Order) == Order(7, "tea")
    plain = Message.fake("note", "as it is")
    assert (plain.data, plain.key, plain.attempt) == (b"as it is", plain.id, 1)


@pytest.mark.parametrize(
    "given", [1_795_000_000.25, datetime(2026, 11, 18, 11, 6, 40, 250_000, tzinfo=UTC)], ids=["seconds", "datetime"]
)
def test_a_message_made_by_hand_may_be_of_a_schedule(given: float | datetime) -> None:
    """Of a tick, as the handler sees it; else of none."""
    assert Message.fake("nightly", scheduled_for=given).scheduled_for == 1_795_000_000.25
    assert Message.fake("nightly").scheduled_for is None
