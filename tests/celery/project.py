"""A Celery project as users have it: one task, which writes down what it was given.

The environment says the rest: BROKER, CONF (settings in JSON), SCHEDULE (name to seconds, in JSON) and FOLDER.
"""

import json
import os
from pathlib import Path
from typing import Any

from celery import Celery

app = Celery("project", broker=os.environ["BROKER"])
app.conf.update(json.loads(os.environ.get("CONF", "{}")))
app.conf.beat_schedule = {
    name: {"task": "note", "schedule": seconds, "args": [name]}
    for name, seconds in json.loads(os.environ.get("SCHEDULE", "{}")).items()
}


@app.task(name="note", bind=True)  # type: ignore[untyped-decorator]  # Celery has no types
def note(self: Any, what: str) -> None:
    """Write down what was asked, and for which tick."""
    line = f"{what} {self.request.soloist_tick}\n".encode()
    ledger = os.open(Path(os.environ["FOLDER"]) / "ledger", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    try:
        os.write(ledger, line)  # in one piece, also beside others
    finally:
        os.close(ledger)
