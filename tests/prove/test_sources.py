"""prove_source: killed before its page is accepted, a source is called with the old cursor; after that, with the new one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest

from soloist import App, Msg, Page, Source
from soloist.prove import Verdict, prove_source
from soloist.prove.crash_points import When
from tests.prove.shop import Shop

Rows = list[tuple[int, str]]
ROWS = 5


@pytest.fixture
def app() -> App:
    return App("shop")


@pytest.fixture
def shop(shop: Shop) -> Shop:
    """With rows in its outbox."""
    fill(shop)
    return shop


def fill(shop: Shop) -> None:
    shop.reset()
    with shop.transaction() as db:
        db.executemany("INSERT INTO outbox (id, body) VALUES (?, ?)", [(n, f"row {n}") for n in range(1, ROWS + 1)])


def left(shop: Shop) -> dict[str, Rows]:
    with shop.transaction() as db:
        return {"left": db.execute("SELECT id, body FROM outbox WHERE NOT is_taken").fetchall()}


def rows_after(shop: Shop, number: int) -> Rows:
    with shop.transaction() as db:
        return db.execute("SELECT id, body FROM outbox WHERE id > ? ORDER BY id LIMIT 2", (number,)).fetchall()


def messages(rows: Rows) -> list[Msg]:
    return [Msg("row", body, key=str(number)) for number, body in rows]


def proved(app: App, shop: Shop, name: str, calls: int = 10) -> Verdict:
    return prove_source(app, name, calls=calls, world=partial(left, shop), reset=partial(fill, shop))


def test_nothing_is_found_in_a_source_that_goes_on_from_its_cursor(app: App, shop: Shop) -> None:
    """It is called until it has nothing more."""

    @app.source(every=1)
    def outbox(source: Source[None, int]) -> Page[int]:
        rows = rows_after(shop, source.cursor or 0)
        return Page(messages(rows), cursor=rows[-1][0] if rows else None)

    verdict = proved(app, shop, "outbox")

    assert verdict.is_safe
    assert verdict.tried > 20
    assert str(verdict).startswith("safe to repeat at every line (")


def test_rows_that_are_marked_before_they_are_published_are_missed(app: App, shop: Shop) -> None:
    """Killed between reading and publishing, nobody reads them again."""

    @app.source(every=0)
    def outbox() -> Page[None]:
        with shop.transaction() as db:
            rows = db.execute("SELECT id, body FROM outbox WHERE NOT is_taken LIMIT 2").fetchall()
            db.executemany("UPDATE outbox SET is_taken = 1 WHERE id = ?", [(number,) for number, _ in rows])
        return Page(messages(rows))

    differences = {each.differences for each in proved(app, shop, "outbox").findings}

    assert ("published 3, want 5 (`row 1: row 1`, `row 2: row 2` missing)",) in differences
    assert ("published 4, want 5 (`row 5: row 5` missing)",) in differences
    assert not any("too many" in each for told in differences for each in told)


def test_a_place_that_is_kept_in_memory_publishes_twice(app: App, shop: Shop) -> None:
    """It is gone with its process: that is what the cursor is for."""
    place = 0

    @app.source(every=1)
    def outbox() -> Page[None]:
        nonlocal place
        rows = rows_after(shop, place)
        if rows:
            place = rows[-1][0]
        return Page(messages(rows))

    differences = {each.differences for each in proved(app, shop, "outbox").findings}

    assert ("published 7, want 5 (`row 1: row 1`, `row 2: row 2` too many)",) in differences


def test_what_follows_a_yield_runs_after_acceptance_or_not_at_all(app: App, shop: Shop) -> None:
    """Killed there, the next call has the new cursor. One that only then marks its rows publishes them again without it."""

    @app.source(every=1)
    def marking(source: Source[None, int]) -> Iterator[Page[int]]:
        with shop.transaction() as db:
            rows = db.execute("SELECT id, body FROM outbox WHERE NOT is_taken LIMIT 2").fetchall()
        if not rows:
            return
        yield Page(messages(rows))
        with shop.transaction() as db:
            db.executemany("UPDATE outbox SET is_taken = 1 WHERE id = ?", [(number,) for number, _ in rows])

    verdict = proved(app, shop, "marking")

    assert verdict.findings[0].differences[0] == "published 7, want 5 (`row 1: row 1`, `row 2: row 2` too many)"
    assert "yield Page(messages(rows))" in verdict.findings[0].text
    at_the_page = [each for each in verdict.findings if "yield Page" in each.text]
    assert all(each.point.place.when is When.AFTER for each in at_the_page)


def test_what_follows_a_yield_is_made_up_for_by_the_next_page(app: App, shop: Shop) -> None:
    """Safe as long as a next page comes; the code behind the last one that is asked for runs as well."""

    @app.source(every=1)
    def outbox(source: Source[None, int]) -> Iterator[Page[int]]:
        while rows := rows_after(shop, source.cursor or 0):
            yield Page(messages(rows), cursor=rows[-1][0], more=True)
            with shop.transaction() as db:
                db.execute("DELETE FROM outbox WHERE id <= ?", (rows[-1][0],))

    to_the_end, not_so_far = proved(app, shop, "outbox"), proved(app, shop, "outbox", calls=2)

    assert not_so_far.is_safe
    assert {each.differences for each in to_the_end.findings} == {("left 1, want 0",)}


def test_what_is_made_up_for_by_the_next_call_is_safe(app: App, shop: Shop) -> None:
    """Also behind the last page."""

    @app.source(every=1)
    def outbox(source: Source[None, int]) -> Page[int]:
        with shop.transaction() as db:
            db.execute("DELETE FROM outbox WHERE id <= ?", (source.cursor or 0,))
        rows = rows_after(shop, source.cursor or 0)
        return Page(messages(rows), cursor=rows[-1][0] if rows else None)

    assert proved(app, shop, "outbox").is_safe


def test_an_async_generator_is_killed_while_it_waits_and_at_its_yield(app: App, shop: Shop) -> None:
    """It goes on from the cursor, so nothing is found; what it does before the cursor is stored is."""

    @app.source(every=1)
    async def right(source: Source[None, int]) -> AsyncIterator[Page[int]]:
        while rows := rows_after(shop, source.cursor or 0):
            await asyncio.sleep(0)
            yield Page(messages(rows), cursor=rows[-1][0], more=True)

    @app.source(every=1)
    async def wrong(source: Source[None, int]) -> AsyncIterator[Page[int]]:
        while rows := rows_after(shop, source.cursor or 0):
            shop.note("taken")
            await asyncio.sleep(0)
            yield Page(messages(rows), cursor=rows[-1][0], more=True)

    safe = proved(app, shop, "right")
    verdict = prove_source(app, "wrong", world=lambda: {"notes": shop.notes()}, reset=partial(fill, shop))

    assert safe.is_safe
    found = {each.point.place.when for each in verdict.findings}
    assert {When.WAITS, When.YIELDS} <= found
    assert {each.differences for each in verdict.findings} == {("notes 4, want 3",)}


def test_an_async_source_goes_on_from_its_cursor(app: App, shop: Shop) -> None:
    """From the one that it is given at first, too."""

    @app.source(every=1)
    async def outbox(source: Source[None, int]) -> Page[int]:
        await asyncio.sleep(0)
        rows = rows_after(shop, source.cursor or 0)
        return Page(messages(rows), cursor=rows[-1][0] if rows else None)

    assert prove_source(app, "outbox", cursor=3, world=partial(left, shop), reset=partial(fill, shop)).is_safe


def test_the_term_grows_after_a_kill(app: App, shop: Shop) -> None:
    """A system that can compare refuses the old one."""

    @app.source(every=1)
    def outbox(source: Source[None, int]) -> str | None:
        return f"in term {source.term}" if source.cursor is None else None

    verdict = prove_source(app, "outbox", calls=1)

    assert verdict.findings[0].differences == ("published `default in term 2`, want `default in term 1`",)


def test_a_source_that_fails_after_a_kill_is_found(app: App, shop: Shop) -> None:
    """It left something behind that its successor stumbles over."""

    @app.source(every=1)
    def outbox(source: Source[None, int]) -> Page[int]:
        (shop.folder / "reading").touch(exist_ok=False)
        rows = rows_after(shop, source.cursor or 0)
        (shop.folder / "reading").unlink()
        return Page(messages(rows), cursor=rows[-1][0] if rows else None)

    told = proved(app, shop, "outbox").findings[0].differences

    assert any(each.startswith("the source raised FileExistsError") for each in told)
