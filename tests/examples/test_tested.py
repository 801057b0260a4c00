"""examples/tested and docs/testing.md: the tests of the page pass as they stand there, with the conftest.py that stands there."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from soloist import App, Message, Reject
from soloist.testing import Kit, NotEmpty
from tests.documents import ROOT, Document
from tests.servers import PrivateServer

PAGE = Document("docs/testing.md")
BLOCK = re.compile(
    r"^<!-- (run|file|excerpt|shows): (\S+) -->\n```(?:python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
BLOCKS = BLOCK.findall(PAGE.text)


def of(what: str) -> dict[str, str]:
    return {name: block for found, name, block in BLOCKS if found == what}


def pytest_in(folder: Path) -> str:
    """What it prints, in a process of its own."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SOLOIST"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:valkey", "--rootdir", folder, folder],
        cwd=ROOT,
        env={**variables, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_every_block_is_tested() -> None:
    """Each is a file, a test that is run, an excerpt, or what a test shows."""
    assert len(PAGE.blocks("python", "text")) == len(BLOCKS)
    assert (len(of("run")), len(of("file")), len(of("shows"))) == (3, 1, 2)


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    """All of them: as many as there are functions."""
    (tmp_path / "conftest.py").write_text(of("file")["conftest.py"])
    for name, block in of("run").items():
        (tmp_path / f"test_{name}.py").write_text(block)
    many = sum(len(re.findall(r"^ *def test_", block, re.MULTILINE)) for block in of("run").values())

    said = pytest_in(tmp_path)

    assert f"{many} passed" in said, said


def test_the_tests_of_the_example_pass() -> None:
    """As its page says."""
    many = (ROOT / "examples/tested/test_shop.py").read_text().count("\ndef test_")

    said = pytest_in(ROOT / "examples/tested")

    assert f"{many} passed" in said, said


@pytest.mark.parametrize("block", [block for what, _, block in BLOCKS if what == "excerpt"])
def test_an_excerpt_is_still_in_the_example(block: str) -> None:
    """Word for word."""
    assert block in (ROOT / "examples/tested/test_shop.py").read_text()


def test_the_conftest_of_the_page_is_that_of_the_example() -> None:
    """One import."""
    assert of("file")["conftest.py"] == (ROOT / "examples/tested/conftest.py").read_text()


def test_the_picture_on_the_page_is_what_a_test_shows(server: PrivateServer) -> None:
    """Line by line."""
    app, gate = App("picture"), threading.Event()

    @app.handler("order")
    def order(_message: Message) -> None:
        raise Reject("nothing to pay")

    @app.handler("slow")
    def slow(_message: Message) -> None:
        gate.wait(60)

    app.handler("mail")(lambda _: None)
    with Kit(server.url) as soloist, soloist.run(app) as system:
        system.publish("order", "free", key="order-7")
        system.wait_until_empty()
        system.publish("mail", "later", delay=60)
        system.publish("slow", "1")
        system.publish("slow", "2")
        system.wait_until(lambda: (system.inspect().claimed, system.inspect().pending) == (1, 2))
        with pytest.raises(NotEmpty) as told:
            system.wait_until_empty(within=0.5)
        gate.set()
        system.wait_until_empty()
        assert f"NotEmpty: {told.value}\n" == of("shows")["picture"]

        system.publish("ordr", "1")
        with pytest.raises(NotEmpty) as told:
            system.wait_until_empty()
        assert f"NotEmpty: {told.value}".splitlines()[0] == of("shows")["unhandled"].rstrip()
