"""A program of somebody's own that runs an App (`app.run()`), and goes on when that comes back.

Its handler hangs at the first message, if HANGS is set, until the file `gate` is there.
"""

import os
import signal
import sys

from soloist import App, Message
from tests.processes.apps import note, wait_for

app = App("script", heartbeat=0.1)


@app.generator(every=0.05)
def produce() -> str:
    return "text"


@app.handler(timeout=0.2)
def handle(message: Message) -> None:
    note("began", message.id)
    if "HANGS" in os.environ:
        wait_for("gate")


if __name__ == "__main__":
    code = app.run(stop_timeout=10)
    is_given_back = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    sys.stdout.write(f"came back with {code}; signals are given back: {is_given_back}\n")
    raise SystemExit(code)
