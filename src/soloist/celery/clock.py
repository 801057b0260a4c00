"""What time it is for the entries: the server's, so that hosts whose clocks differ agree on what is due."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from soloist.runtime.clock import ServerClock


class BeatClock:
    """The server's time in the app's time zone; it stands still while one decision is taken.

    (The estimate may go back by a millisecond. Between "it is due" and "this was its run" that would send a tick twice.)
    """

    def __init__(self, app: Any, of: ServerClock) -> None:
        self._app = app
        self._of = of
        self._stopped_at: datetime | None = None

    def now(self) -> datetime:
        if self._stopped_at is not None:
            return self._stopped_at
        return datetime.fromtimestamp(self._of.now_ms() / 1000, self._app.timezone)

    @contextmanager
    def stopped(self) -> Iterator[datetime]:
        self._stopped_at = self.now()
        try:
            yield self._stopped_at
        finally:
            self._stopped_at = None

    def set_in(self, schedule: Any) -> None:
        """Have a schedule go by it, unless it goes by a clock of its user's own."""
        if getattr(schedule, "nowfun", self) is None:
            schedule.nowfun = self.now
