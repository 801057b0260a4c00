"""errors list|requeue|delete|export --kind --reason --type --since --until."""

import json

import pytest

from tests.processes.one_command import USAGE, Ended, Says
from tests.servers import PrivateServer, Store
from tests.store.acting import Instance, ids
from tests.store.state import check_equation

pytestmark = pytest.mark.one_server

NOWHERE = ("--addr", "127.0.0.1:1")


@pytest.fixture
def failed(store: Store) -> Store:
    """Three records of the kind default, then two of the kind mail."""
    instance = Instance(store, kinds=("default", "mail"))
    instance.join()
    instance.beat()
    for kind, count in (("default", 3), ("mail", 2)):
        instance.publish({kind: count})
        instance.next(failed=ids(instance.next(want=count, kind=kind)), kind=kind)
    instance.leave(("default", "mail"))
    return store


@pytest.fixture
def errors(says: Says, failed: Store, server: PrivateServer) -> Says:
    """`soloist errors …` on that namespace."""
    return lambda *words: says("errors", *words, "--url", server.url, "--namespace", failed.keys.namespace)


def numbers(ended: Ended) -> list[int]:
    assert ended.code == 0, ended
    return [int(json.loads(line)["id"].partition("-")[0]) for line in ended.stdout.splitlines()]


def test_only_what_is_asked_for_is_shown(errors: Says, failed: Store) -> None:
    """And counted: how many there are of these."""
    listed = errors("list", "--kind", "mail", "--json", "--limit", "1")

    assert numbers(listed) == [5]
    assert "1 of 2 error records" in listed.stderr
    assert numbers(errors("export", "--reason", "ERRONEOUS", "--since", "1h")) == [1, 2, 3, 4, 5]
    assert numbers(errors("export", "--kind", "mail", "--type", "Reject")) == [4, 5]
    assert numbers(errors("export", "--type", "Rejec")) == []


def test_a_time_is_what_the_records_show(errors: Says, failed: Store) -> None:
    """`failed_at` of one is a limit for others, itself included."""
    third = json.loads(errors("export").stdout.splitlines()[2])["failed_at"]

    assert numbers(errors("export", "--since", f"{third:.6f}")) == [3, 4, 5]
    assert numbers(errors("export", "--until", f"{third:.6f}")) == [1, 2, 3]
    assert numbers(errors("export", "--until", "2001-01-01")) == []


def test_only_what_is_asked_for_is_changed(errors: Says, failed: Store) -> None:
    assert errors("requeue", "--kind", "default", "--json").stdout == '{"requeued": 3}\n'
    assert errors("delete", "--all", "--kind", "default").stdout == "0 deleted\n"
    assert errors("delete", "--reason", "erroneous").stdout == "2 deleted\n"
    assert check_equation(failed).errors == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["list", "--since", "soon"], "--since: that is no time; write how long ago (90s"),
        (["export", "--until", "1e300"], "--until: that is no time"),
        (["list", "--kind", "two words"], "--kind: 'two words' is no kind"),
        (["delete", "--reason", ""], "--reason: '' is not possible"),
        (["delete"], "--since, --until), or --all"),
        (["requeue", "1-tag", "--kind", "mail"], "not both"),
        (["delete", "1-tag", "--all"], "not both"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anybody_is_asked(says: Says, words: list[str], part: str) -> None:
    says("errors", *words, *NOWHERE).assert_refused(USAGE, part)


def test_a_time_that_ends_before_it_begins_is_refused(errors: Says, failed: Store) -> None:
    errors("delete", "--since", "5m", "--until", "1h").assert_refused(USAGE, "since is later than until")

    assert check_equation(failed).errors == 5
