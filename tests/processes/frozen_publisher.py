"""An App whose generator freezes itself, once, between the look at its clock and the call that publishes."""

import os
import signal
import time
from typing import Any

from soloist.runtime import generator
from soloist.store import messages
from tests.processes.apps import FOLDER, gated

app = gated
_publish = messages.publish


def publish_after_freezing(*arguments: Any) -> int:
    try:
        (FOLDER / "freeze").unlink()
    except FileNotFoundError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.2)  # this thread runs on until the signal has reached all of them; the rest passes after the thaw
    return _publish(*arguments)


vars(generator)["publish"] = publish_after_freezing
