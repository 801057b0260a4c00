"""The fixture in a project of a user's: what passes, what a failing test shows, and what is not loaded."""

import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.documents import ROOT

CONFTEST = """
from soloist.testing.pytest import soloist

__all__ = ["soloist"]
"""

SHOP = """
from soloist import App

app = App("shop")
handled = []

@app.handler("order")
def bill(message):
    if message.body == "bad":
        raise ValueError("no such article")
    handled.append(message.body)
"""

GREEN = """
import asyncio
import unittest

import pytest

import shop
from soloist import testing


@pytest.mark.parametrize("body", ["1", "2", "3", "4"])
def test_it_is_handled(soloist, body):
    with soloist.run(shop.app, instances=2) as system:
        shop.app.publish("order", body)
        system.wait_until_empty()
        assert shop.handled[-1] == body
        assert system.inspect().published == 1


async def program():
    async with testing.run(shop.app) as system:
        await shop.app.apublish("order", "async")
        await system.await_until_empty()


def test_async():
    asyncio.run(program())
    assert shop.handled[-1] == "async"


class InUnittest(unittest.TestCase):
    def setUp(self):
        self.soloist = self.enterContext(testing.Kit())

    def test_it_is_handled(self):
        with self.soloist.run(shop.app) as system:
            shop.app.publish("order", "unittest")
            system.wait_until_empty()
        self.assertEqual(shop.handled[-1], "unittest")
"""

RED = """
import shop


def test_a_handler_that_raises(soloist):
    with soloist.run(shop.app) as system:
        shop.app.publish("order", "bad", key="order-7")
        system.wait_until_empty()


def test_a_message_that_is_not_for_us(soloist):
    with soloist.run(shop.app) as system:
        shop.app.publish("oder", "1")
        system.wait_until_empty()
"""


class Project:
    """A folder with an App and its tests, and pytest in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "shop.py").write_text(SHOP)
        (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def test(self, tests: str, *words: str) -> str:
        (self._folder / "test_shop.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:valkey", *words]
        done = subprocess.run(command, cwd=self._folder, env=environment(), capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.stdout


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SOLOIST"))}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_tests_pass(project: Project, words: tuple[str, ...]) -> None:
    """With a fixture, asyncio, unittest; in one process, and in workers side by side; warnings are errors there."""
    assert "6 passed" in project.test(GREEN, *words)


def test_unittest_needs_no_pytest(project: Project, tmp_path: Path) -> None:
    """Its own way to enter a context is enough."""
    project.test(GREEN)
    command = [sys.executable, "-W", "error", "-m", "unittest", "test_shop"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)

    assert re.search(r"Ran 1 test in .*\n\nOK", done.stderr)


def test_a_test_that_fails_shows_why(project: Project) -> None:
    """The line of the handler and what it raised; the kind that was meant."""
    said = project.test(RED)

    assert "2 failed" in said
    assert re.search(r"^>\s+raise ValueError\(\"no such article\"\)$", said, re.MULTILINE)
    assert "The above exception was the direct cause of the following exception" in said
    assert re.search(r"^E +soloist\S*HandlerFailed: a message failed:$", said, re.MULTILINE)
    assert "order order-7 (body b'bad'): ValueError: no such article" in said
    assert (
        "NotEmpty: 1 message waits of the kind 'oder', for which the App has no handler (did you mean 'order'?)" in said
    )


def test_nothing_of_ours_loads_itself_into_pytest(tmp_path: Path) -> None:
    """Not in a project that has no conftest.py of ours: neither a plugin nor an import."""
    (tmp_path / "test_nothing.py").write_text("import sys\ndef test(): assert 'soloist' not in sys.modules\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:valkey", "--trace-config"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)

    assert "1 passed" in done.stdout
    lines = [
        line for line in done.stdout.splitlines() if "PLUGIN registered" in line or "setuptools registered" in line
    ]
    assert lines
    assert not [line for line in lines if "soloist" in line]
    assert not [each for each in distribution("soloist").entry_points if each.group == "pytest11"]
    assert ROOT.joinpath("pyproject.toml").read_text().count("pytest11") == 0
