"""Log lines to stderr, as text or JSON."""

import json
import logging
import sys
import time


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{time.strftime('%H:%M:%S', time.localtime(record.created))}  {record.levelname.lower()}  {record.getMessage()}"
        return text + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {"at": int(record.created * 1000), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def set_up(level: str, form: str) -> None:
    """Send what soloist logs to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logger = logging.getLogger("soloist")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
