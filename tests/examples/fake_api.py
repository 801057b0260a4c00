"""A fake of an HTTP API with pages, a cursor, and now and then a refusal with Retry-After."""

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 10


@dataclass(frozen=True)
class Asked:
    """One request.

    Attributes:
        at: monotonic seconds.
        refused: it was answered with 429 or 503, and so many seconds (or a date) to wait.
    """

    at: float
    after: str | None
    refused: bool


class FakeApi:
    """Events 1 to `events`, in pages of ten.

    Args:
        refusals: number of the request, from 1 -> status and Retry-After of its refusal.
    """

    def __init__(self, events: int, refusals: dict[int, tuple[int, str]]) -> None:
        self.events = events
        self.asked: list[Asked] = []
        self._refusals = refusals
        self._lock = threading.Lock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = api.answer(parse_qs(urlsplit(self.path).query))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class calls it
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/events"

    def answer(self, query: dict[str, list[str]]) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        after = query.get("after", [None])[0]
        with self._lock:
            refusal = self._refusals.get(len(self.asked) + 1)
            self.asked.append(Asked(time.monotonic(), after, refusal is not None))
        if refusal is not None:
            return refusal[0], {"Retry-After": refusal[1]}, b""
        last = int(after.removeprefix("c")) if after else 0
        numbers = range(last + 1, min(last + PAGE, self.events) + 1)
        reached = numbers[-1] if numbers else last
        page = {
            "events": [{"id": number, "what": f"event {number}"} for number in numbers],
            "cursor": f"c{reached}",
            "more": reached < self.events,
        }
        return 200, {"Content-Type": "application/json"}, json.dumps(page).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
