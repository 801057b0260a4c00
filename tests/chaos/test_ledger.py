"""What a process writes down is there, whole, whatever becomes of it."""

import os
import signal
from pathlib import Path

from soloist.chaos.ledger import Ledger, read


def test_what_many_processes_wrote_down_is_read_together(tmp_path: Path) -> None:
    for term in (2, 1):
        if not (child := os.fork()):
            ledger = Ledger(tmp_path)
            ledger.accepted(term, 10 * term, 3)
            ledger.begun("1-tag")
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)

    accounts = read(tmp_path)

    assert [(page.term, page.first, page.count) for page in accounts.publications] == [(2, 20, 3), (1, 10, 3)]
    assert accounts.starts == {"1-tag": 2}
    assert accounts.begun_ms["1-tag"] >= accounts.publications[0].at_ms


def test_an_empty_folder_has_no_accounts(tmp_path: Path) -> None:
    assert not read(tmp_path).starts
