"""source.py: what a source is given, and what it returns."""

import dataclasses

import pytest

from soloist import App, Msg, Page, Source


def test_a_source_can_be_called_by_a_test_with_what_it_would_be_given() -> None:
    """Decorators return the function unchanged, and Source can be made by hand."""
    app = App("orders")

    @app.source(every=1)
    def outbox(source: Source[list[str], int]) -> Page[int]:
        rows = source.ctx[source.cursor or 0 :][: source.room]
        return Page([Msg("row", row, key=row) for row in rows], cursor=(source.cursor or 0) + len(rows))

    page = outbox(Source(ctx=["a", "b", "c"], cursor=1, room=1))

    assert page == Page([Msg("row", "b", key="b")], cursor=2)
    assert (page.more, page.wait) == (False, 0.0)


def test_a_source_says_what_it_is() -> None:
    assert repr(Source(cursor=7, room=3, term=2)) == "<Source cursor=7 room=3 term=2>"
    assert (Source().cursor, Source().room, Source().term) == (None, 1000, 0)


def test_pages_and_messages_cannot_be_changed_once_they_are_made() -> None:
    """What is published is what was returned, whoever else has a hold of it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Page([]).more = True  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Msg("kind", "body").key = "other"  # type: ignore[misc]
