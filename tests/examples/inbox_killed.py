"""examples/inbox with a handler that is killed, some times, between the commit of its effect and its completion."""

import os
import signal
from pathlib import Path

from examples.inbox.payments import Pool, app, pay
from soloist import Message

FOLDER = Path(os.environ["FOLDER"])
KILLED = int(os.environ["KILLED"])
"""Every so many messages one is killed for, at its first attempt."""

del app.handlers["payment"]


@app.handler("payment")
def pay_and_die(message: Message, ctx: Pool) -> None:
    with (FOLDER / "begun").open("a") as ledger:
        ledger.write(f"{message.key}\n")
    pay(message, ctx)
    number = int(message.key.rpartition("-")[2])
    if number % KILLED == 0 and message.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
