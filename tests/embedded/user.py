"""A process that uses the embedded server: `python user.py FOLDER`, then one command a line on stdin.

It answers each with a line of JSON: on its start and on `ensure` where the server is, on `fork` the number of a child
that lives on. At the end of stdin it ends.
"""

import json
import os
import signal
import sys
from pathlib import Path

from soloist import embedded
from soloist.errors import EmbeddedServerError


def say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(folder: Path) -> int:
    try:
        share = embedded.acquire(folder)
    except EmbeddedServerError as error:
        say(error=str(error))
        return 3
    say(url=share.url, pid=share.pid, port=share.port, started=share.started)
    for command in sys.stdin:
        if command.strip() == "ensure":
            share.ensure()
            say(url=share.url, pid=share.pid, port=share.port, started=share.started)
        elif child := os.fork():
            say(child=child)
        else:
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
