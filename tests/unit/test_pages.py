"""runtime/pages.py: what a source returned, as a page that can be published; or why it cannot."""

import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from soloist import Msg, Page
from soloist.errors import UsageError
from soloist.runtime import pages
from soloist.runtime.pages import Sheet, cursor_from, sheet_of
from soloist.store.envelope import unpack

MAX_BODY = 1000


def sheet(returned: Any) -> Sheet:
    return sheet_of(returned, MAX_BODY)


def refusal_of(returned: Any) -> str:
    with pytest.raises(UsageError) as refused:
        sheet(returned)
    return str(refused.value)


@pytest.mark.parametrize(
    ("returned", "body"),
    [
        ("text", b"text"),
        ("", b""),
        ("ä", b"\xc3\xa4"),
        (b"\x00\xff", b"\x00\xff"),
        ({"a": [1, None]}, b'{"a":[1,null]}'),
        (["a", "b"], b'["a","b"]'),
        (0, b"0"),
        (False, b"false"),
    ],
)
def test_one_value_is_one_message_of_the_default_kind(returned: Any, body: bytes) -> None:
    """Text and bytes as they are, anything else as JSON; a list is one message, too."""
    assert sheet(returned) == Sheet([("default", b"", body)])


def test_none_is_nothing_this_time() -> None:
    assert sheet(None) == Sheet()
    assert sheet(None).many == 0


def test_a_msg_has_its_kind_and_its_key() -> None:
    assert sheet(Msg("mail", {"to": "ann"}, key="welcome:ann")).messages == [
        ("mail", b"welcome:ann", b'{"to":"ann"}'),
    ]


@pytest.mark.parametrize("sequence", [list, tuple, deque])
def test_a_page_has_messages_cursor_more_and_wait(sequence: Any) -> None:
    """Bodies alone are of the default kind."""
    made = sheet(Page(sequence(["a", Msg("k", "b")]), cursor={"after": 7}, more=True, wait=2.5))

    assert made == Sheet([("default", b"", b"a"), ("k", b"", b"b")], cursor='{"after":7}', more=True, wait=2.5)
    assert made.many == 2


def test_messages_are_numbered_in_the_order_of_the_page_whatever_their_kinds() -> None:
    """And each kind keeps its own order."""
    packed = sheet(Page([Msg("a", "1"), Msg("b", "2"), Msg("a", "3", key="k")])).envelopes(41, "tag", 5)

    assert {kind: [unpack(each).id for each in many] for kind, many in packed.items()} == {
        "a": ["41-tag", "43-tag"],
        "b": ["42-tag"],
    }
    last = unpack(packed["a"][1])
    assert (last.body, last.key, last.kind, last.published_at) == (b"3", "k", "a", 5)
    assert unpack(packed["b"][0]).key == "42-tag"


def test_gathered_bodies_make_the_same_envelopes() -> None:
    """The quick way to pack them, and the other."""
    quick, other = Sheet(bodies=[b"x", b"y"]), Sheet([("default", b"", b"x"), ("default", b"", b"y")])

    assert quick.envelopes(7, "t", 9) == other.envelopes(7, "t", 9)
    assert quick.many == other.many == 2


# refusals


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


def endless() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (Opaque(), "Opaque can be no body: .*Return text, bytes, something that JSON can tell, Msg, Page or None"),
        (Page([Opaque()]), "Opaque can be no body"),
        (Msg("kind", Opaque()), "Opaque can be no body"),
        (endless(), "list can be no body"),
        ("\udcff", r"the body '\\udcff' is no text that could be sent"),
        ("x" * 1001, r"a body of 1,001 bytes is larger than max_body allows \(1,000\)"),
        ([Msg("a", "b")], r"messages within a message; return Page\(\[Msg\(…\), …\]\)"),
        (Msg("a", Page(["b"])), "messages within a message"),
        (Page([Page(["b"])]), "messages within a message"),
        (Msg("two words", "b"), "the kind of a Msg must be 1 to 128 of the characters .*, not 'two words'"),
        (Msg("", "b"), "the kind of a Msg must be 1 to 128"),
        (Msg(7, "b"), "the kind of a Msg must be 1 to 128 .*, not 7"),  # type: ignore[arg-type]
        (Msg("a", "b", key=7), r"the key of a Msg must be text, not int; write key=str\(…\)"),  # type: ignore[arg-type]
        (Msg("a", "b", key="\udcff"), "the key .* is no text that could be sent"),
        (Msg("a", "b", key="k" * 4097), "a key of 4,097 bytes is too long; at most 4,096 are possible"),
        (Page("text"), r"the messages of a Page must be a list, not str; write Page\(\[…\]\)"),
        (Page(bytearray(b"x")), "the messages of a Page must be a list, not bytearray"),
        (Page(each for each in "ab"), "the messages of a Page must be a list, not generator"),  # type: ignore[arg-type]
        (Page(None), "the messages of a Page must be a list, not NoneType"),  # type: ignore[arg-type]
        (Page(wait=-1), "wait=-1 of a Page must be a number of seconds"),
        (Page(wait=float("inf")), "wait=inf of a Page must be a number of seconds"),
        (Page(wait=float("nan")), "wait=nan of a Page must be a number of seconds"),
        (Page(wait=1e12), "wait=1000000000000.0 of a Page must be a number of seconds"),
        (Page(wait="5"), "wait='5' of a Page must be a number of seconds"),  # type: ignore[arg-type]
        (Page(cursor=Opaque()), "the cursor <opaque> cannot be stored: .* It must be something that JSON can tell"),
        (Page(cursor=endless()), r"the cursor \[\[...\]\] cannot be stored"),
        (Page(cursor="x" * 2**20), r"a cursor of 1,048,578 bytes is too long; at most 1,048,576 are possible"),
        (Page(cursor=float("nan")), "the cursor nan cannot be stored: JSON knows no such number"),
    ],
)
def test_what_cannot_be_published_is_refused_in_a_sentence(returned: Any, says: str) -> None:
    """With what was given, and what to return instead."""
    assert re.match(says, refusal_of(returned))


async def later() -> str:
    return "text"


def steps() -> Iterator[str]:
    yield "text"


async def async_steps() -> AsyncIterator[str]:
    yield "text"


@pytest.mark.parametrize("make", [later, steps, async_steps])
def test_what_nobody_has_run_is_refused_with_the_reason(make: Any) -> None:
    """A wrapper that is not async hides an async function: it would publish its coroutine."""
    says = refusal_of(make())

    assert "which nobody has run: a decorator between it and ours hides what it is" in says


def test_a_page_has_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one step of the server, which does nothing else meanwhile."""
    monkeypatch.setattr(pages, "MOST_MESSAGES", 3)
    monkeypatch.setattr(pages, "MOST_BYTES", 20)
    monkeypatch.setattr(pages, "MOST_KINDS", 2)

    assert sheet(Page(["a"] * 3)).many == 3
    assert refusal_of(Page(["a"] * 4)).startswith("a Page of 4 messages with 4 bytes is too large; return at most")
    assert refusal_of(Page(["x" * 21])).startswith("a Page of 1 messages with 21 bytes is too large")
    assert refusal_of(Page([Msg(kind, "") for kind in "abc"])).startswith("a Page of 3 kinds is too large: at most 2")


# cursors


@dataclass
class Place:
    page: int
    row: int


@pytest.mark.parametrize(
    ("cursor", "cursor_type"),
    [
        (7, int),
        (7, Any),
        ("after", str | None),
        (Place(1, 2), Place),
        (datetime(2026, 11, 16, tzinfo=UTC), datetime),
        ({"shard": [1, 2]}, dict[str, list[int]]),
        ((1, "a"), tuple[int, str]),
        (b"\x00\xff", bytes),
        (0, int),
        ("", Any),
        (False, Any),
    ],
)
def test_a_cursor_comes_back_as_what_it_was(cursor: Any, cursor_type: Any) -> None:
    """As its annotation says; also those that Python takes for false."""
    assert cursor_from(sheet(Page(cursor=cursor)).cursor, cursor_type) == cursor


def test_no_cursor_is_none() -> None:
    assert sheet(Page(["a"])).cursor is None
    assert cursor_from(None, int) is None


@pytest.mark.parametrize("stored", ['"text"', "1.5", "null", "not json"])
def test_a_cursor_of_another_type_is_refused(stored: str) -> None:
    """A new version of the function may have another one: going on from anywhere would be wrong."""
    with pytest.raises(UsageError, match=r"the cursor .* does not fit the annotation of the function: .*Mend the one"):
        cursor_from(stored, int)
