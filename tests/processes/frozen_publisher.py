"""An App whose generator freezes itself, once, between the look at its clock and the call that publishes."""

import os
import signal
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
    return _publish(*arguments)


vars(generator)["publish"] = publish_after_freezing
