"""Log lines to stderr, as text or JSON."""

import atexit
import json
import logging
import logging.handlers
import queue
import sys
import time
from typing import TextIO

from soloist.cli.output import harmless_lines, wipe


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{time.strftime('%H:%M:%S', time.localtime(record.created))}  {record.levelname.lower()}  {record.getMessage()}"
        return harmless_lines(text + ("\n" + self.formatException(record.exc_info) if record.exc_info else ""))


class _Writer(logging.StreamHandler[TextIO]):
    """Writes beside a line that is kept up to date on the same terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return wipe() + super().format(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A log that cannot be written has nobody to be told to."""


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {"at": int(record.created * 1000), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class _Queue(logging.handlers.QueueHandler):
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record  # the formatter on the other side wants exception and arguments as they are


def set_up(level: str, form: str) -> None:
    """Send what soloist logs to stderr, on a thread of its own: a terminal that is held must not stop the heart."""
    writer = _Writer(sys.stderr)
    writer.setFormatter(_Json() if form == "json" else _Text())
    lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    listener = logging.handlers.QueueListener(lines, writer)
    listener.start()
    _listeners.append(listener)
    atexit.register(finish)
    logger = logging.getLogger("soloist")
    logger.handlers[:] = [_Queue(lines)]
    logger.setLevel(level.upper())
    logger.propagate = False


_listeners: list[logging.handlers.QueueListener] = []


def finish() -> None:
    """Write what was logged: for the end of the process, also where it becomes another program."""
    while _listeners:
        _listeners.pop().stop()
