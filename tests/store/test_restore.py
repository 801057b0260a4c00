"""prepare.lua and restore.lua: an import that is interrupted, repeated, late, or meets others."""

import io
from collections import Counter

import pytest

from soloist.archive.checking import check
from soloist.archive.restoring import import_into
from soloist.errors import ForeignData, NamespaceError, Unavailable, UsageError
from soloist.store.archive import AlreadyThere, Lines, prepare, restore
from soloist.store.guard import check_protocol
from soloist.store.snapshot import purge
from soloist.store.submissions import enlist
from tests.servers import Store
from tests.store.acting import Instance
from tests.store.moving import but_for_the_header, exported, imported, something_of_everything
from tests.store.state import dump, full_memory, hash_of, nothing_changes, waiting


@pytest.fixture
def text(store: Store) -> str:
    """An export of something of everything, and the namespace is empty again."""
    something_of_everything(store)
    exporting = exported(store.link, store.keys)
    purge(store.link, store.keys)
    return exporting


def some(store: Store, first: int, count: int = 2) -> Lines:
    """Lines with a message each."""
    lines = Lines(first, count)
    lines.put(store.keys.pending("default"), "list", *(f"{first + n}-t default 1 5 0 0 x" for n in range(count)))
    return lines


# Beginning.


def test_until_it_is_complete_nobody_comes_in(store: Store, text: str) -> None:
    """Neither instance nor producer, nor whoever only looks."""
    prepare(store.link, store.keys, "digest", ["default"])

    with nothing_changes(store):
        for come_in in (
            lambda: Instance(store).join(),
            lambda: Instance(store, drains=True).join(),
            lambda: enlist(store.link, store.keys, "eve", "demo"),
            lambda: check_protocol(store.link, store.keys),
        ):
            with pytest.raises(NamespaceError, match="an import into it has begun and is not complete"):
                come_in()


def test_begun_again_it_goes_on(store: Store) -> None:
    assert prepare(store.link, store.keys, "digest", []) == 0
    restore(store.link, store.keys, "digest", some(store, 1))

    with nothing_changes(store):
        assert prepare(store.link, store.keys, "digest", []) == 2


def test_another_file_waits_until_this_one_is_complete(store: Store) -> None:
    prepare(store.link, store.keys, "digest", [])

    with nothing_changes(store), pytest.raises(NamespaceError, match="the import of another file into it has begun"):
        prepare(store.link, store.keys, "other", [])


def test_a_namespace_that_is_at_work_is_not_overwritten(store: Store, text: str) -> None:
    Instance(store).join()

    with nothing_changes(store), pytest.raises(NamespaceError, match="is not empty: name another one"):
        imported(store.link, store.keys, text)


@pytest.mark.parametrize("name", ["kinds", "errors", "history", "pending:default", "delayed:mail"])
def test_what_stands_there_without_a_namespace_is_named(store: Store, text: str, name: str) -> None:
    """Of whatever type: it is somebody else's."""
    store.link.command("SET", store.keys.base + name, "theirs")

    with nothing_changes(store), pytest.raises(ForeignData, match=f"{name} is there"):
        imported(store.link, store.keys, text)


def test_what_refused_calls_have_left_after_a_purge_is_no_namespace(store: Store, text: str) -> None:
    """And is not counted among what was imported."""
    store.link.command("HINCRBY", store.keys.totals, "superseded:next", 1)
    store.link.command("XADD", store.keys.log, "*", "event", "superseded")

    imported(store.link, store.keys, text)

    assert but_for_the_header(exported(store.link, store.keys)) == but_for_the_header(text)


# Writing.


def test_lines_are_written_once_whatever_is_repeated_or_late(store: Store) -> None:
    prepare(store.link, store.keys, "digest", [])
    first, second = some(store, 1), some(store, 3, 3)
    assert restore(store.link, store.keys, "digest", first) == 2
    with nothing_changes(store):
        assert restore(store.link, store.keys, "digest", first) == 2
    assert restore(store.link, store.keys, "digest", second) == 5

    with nothing_changes(store):
        assert restore(store.link, store.keys, "digest", first) == 5
        assert restore(store.link, store.keys, "digest", second) == 5

    assert waiting(store, "pending") == [f"{number}-t" for number in range(1, 6)]


def test_lines_that_leave_others_out_are_refused(store: Store) -> None:
    prepare(store.link, store.keys, "digest", [])

    with nothing_changes(store), pytest.raises(UsageError, match="somebody has removed it"):
        restore(store.link, store.keys, "digest", some(store, 2))


def test_after_a_purge_nothing_of_it_is_written(store: Store) -> None:
    """Lines without a beginning would be a namespace that nobody knows of."""
    prepare(store.link, store.keys, "digest", [])
    restore(store.link, store.keys, "digest", some(store, 1))
    purge(store.link, store.keys)

    with nothing_changes(store), pytest.raises(UsageError, match="somebody has removed it"):
        restore(store.link, store.keys, "digest", some(store, 3))


def test_after_the_last_line_it_is_a_namespace_and_a_late_copy_does_nothing(store: Store) -> None:
    prepare(store.link, store.keys, "digest", [])
    last = some(store, 1)
    last.put(store.keys.meta, "hash", "protocol", "4", "app", "demo", "imported", "digest")
    restore(store.link, store.keys, "digest", last, is_last=True)

    with nothing_changes(store):
        assert restore(store.link, store.keys, "digest", last, is_last=True) == 2
        with pytest.raises(AlreadyThere):
            prepare(store.link, store.keys, "digest", [])

    assert hash_of(store, store.keys.meta) == {"protocol": "4", "app": "demo", "imported": "digest"}


def test_full_memory_refuses_lines_as_a_whole(store: Store) -> None:
    prepare(store.link, store.keys, "digest", [])
    with full_memory(store), nothing_changes(store), pytest.raises(Unavailable):
        restore(store.link, store.keys, "digest", some(store, 1))

    assert restore(store.link, store.keys, "digest", some(store, 1)) == 2


@pytest.mark.parametrize("at_once", [1, 3])
def test_interrupted_anywhere_it_is_completed_without_doubles(
    store: Store, text: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after each of its steps, whether the answer came or not."""
    monkeypatch.setattr("soloist.archive.restoring.MOST_LINES", at_once)
    steps = Counter[str]()

    class Interrupted(Exception):
        pass

    def interrupted(*args: object, **kwargs: object) -> int:
        steps["all"] += 1
        done = restore(*args, **kwargs) if steps["all"] % 2 else 0  # type: ignore[arg-type]  # handed on
        if steps["all"] % 3 == 0 or not done:
            raise Interrupted
        return done

    monkeypatch.setattr("soloist.archive.restoring.restore", interrupted)
    while True:
        try:
            imported(store.link, store.keys, text)
        except Interrupted:
            continue
        except AlreadyThere:
            pass
        break

    assert steps["all"] > 6
    assert but_for_the_header(exported(store.link, store.keys)) == but_for_the_header(text)


def test_two_that_import_the_same_file_at_the_same_time_make_one_namespace(
    store: Store, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second with a line finds it there."""
    monkeypatch.setattr("soloist.archive.restoring.MOST_LINES", 2)

    def both(*args: object, **kwargs: object) -> int:
        restore(*args, **kwargs)  # type: ignore[arg-type]  # handed on
        return restore(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr("soloist.archive.restoring.restore", both)
    imported(store.link, store.keys, text)

    assert but_for_the_header(exported(store.link, store.keys)) == but_for_the_header(text)


def test_a_file_that_is_changed_meanwhile_never_becomes_a_namespace(store: Store, text: str) -> None:
    """What was checked is what must be written."""
    checked = check(io.BytesIO(text.encode()), "it")
    for other in (text.replace("one of a key", "one of a kee"), text[: text.rindex("\n", 0, -1) + 1]):
        with pytest.raises(UsageError, match="was changed while it was imported"):
            import_into(store.link, store.keys, io.BytesIO(other.encode()), "it", checked)

    assert dict(dump(store.link, store.keys)["meta"])[b"protocol"] == b"importing"
