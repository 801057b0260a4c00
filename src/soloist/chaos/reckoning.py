"""What the server knows in the end: read when everything is over."""

import json
from contextlib import closing
from pathlib import Path

from soloist.chaos.stage import Stage
from soloist.chaos.task import COMPLETED
from soloist.chaos.verdict import Books
from soloist.error_store import ErrorStore
from soloist.inspector import Inspector
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server

PAGE = 10_000
TIMEOUT = 30.0


def read_books(stage: Stage, left: int) -> Books:
    """All of it."""
    server = Server(stage.near)
    with closing(Inspector(server, stage.namespace)) as inspector, closing(Link(server, TIMEOUT)) as link:
        seen = inspector.snapshot()
        committed = _list(link, f"{Keys(stage.namespace).base}data:{COMPLETED}")
    errors = [ident for page in ErrorStore(server, stage.namespace).ids() for ident in page]
    return Books(
        published=seen.published,
        completed=seen.completed,
        failed=seen.failed,
        left=left,
        committed=committed,
        errors=errors,
        printed=[(was_killed, _printed(path)) for path, was_killed in stage.drains],
        superseded=sum(seen.superseded.values()),
    )


def _list(link: Link, key: str) -> list[str]:
    found: list[str] = []
    while page := link.command("LRANGE", key, len(found), len(found) + PAGE - 1):
        found += [each.decode() for each in page]
    return found


def _printed(path: Path) -> list[str]:
    """The ids of whole lines: one that is torn was not confirmed."""
    lines = path.read_text(errors="replace").split("\n")[:-1]
    return [json.loads(line)["id"] for line in lines]
