"""A crew of real instances for each test; and commands, run to their ends."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from soloist.cli import logs
from soloist.cli.main import main
from tests.processes.crew import Crew
from tests.processes.one_command import Ended, Says
from tests.servers import PrivateServer


@pytest.fixture
def crew(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Crew]:
    """Instances of one namespace; whatever of them is left at the end is killed."""
    made = Crew(server.url, namespace, tmp_path)
    yield made
    made.release()


@pytest.fixture
def says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Says:
    """Run a command in this process, with no setting of ours in the environment."""
    for variable in [name for name in os.environ if name.startswith("SOLOIST_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(logs, "set_up", lambda *_: None)

    def run(*words: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def full() -> Iterator[TextIO]:
    """A disk without space."""
    with Path("/dev/full").open("w") as output:
        yield output
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())  # what is left in its buffer goes nowhere
