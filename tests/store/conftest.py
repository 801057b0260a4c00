"""Instances on the stage of one script, and what the scripts said to them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from soloist.store.script import Script
from tests.servers import Store
from tests.store.acting import Instance, Joins

SLOW = {"heartbeat": 15.0, "lease": 200.0, "claim_lease": 1000.0}
"""A hundred times the defaults, so that a machine that stalls for a second changes no answer."""


@pytest.fixture
def store(store: Store) -> Store:
    """The test's namespace, with settings for which nothing happens by itself while a test runs."""
    return replace(store, settings=store.settings.changed(**SLOW))


@pytest.fixture
def joined(store: Store) -> Iterator[Joins]:
    """Makes instances that have joined."""
    made: list[Instance] = []

    def join(kinds: Sequence[str] = ("default",), *, drains: bool = False, number: int = 0) -> Instance:
        made.append(Instance(store, kinds=kinds, drains=drains, number=number))
        made[-1].join()
        return made[-1]

    yield join
    for instance in made:
        instance.unsubscribe()


@pytest.fixture
def generator(joined: Joins) -> Instance:
    """An instance that has been elected to term 1."""
    instance = joined()
    assert instance.beat().role == "elected"
    return instance


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The first words of all answers, by script, in order."""
    words: dict[str, list[str]] = defaultdict(list)
    begin: Callable[..., Callable[[], list[Any]]] = Script.begin

    def listening(script: Script, *args: Any, **kwargs: Any) -> Callable[[], list[Any]]:
        answer = begin(script, *args, **kwargs)

        def listen() -> list[Any]:
            reply = answer()
            words[script.name].append(reply[0].decode())
            return reply

        return listen

    monkeypatch.setattr(Script, "begin", listening)
    return words
