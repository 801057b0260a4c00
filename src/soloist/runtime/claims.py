"""What the lanes of an instance share: the desk of its present incarnation, and the calls for it."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from soloist.commit import Home
from soloist.errors import Unavailable
from soloist.runtime.desk import Desk, Tray
from soloist.runtime.incarnation import Incarnation, new_tag
from soloist.runtime.patience import Patience
from soloist.runtime.turns import Turns
from soloist.store.link import Link
from soloist.store.replies import Superseded

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance
    from soloist.runtime.lane import Lane


class Claims:
    """Claims and records for all lanes."""

    def __init__(self, instance: "Instance", kinds: Sequence[str]) -> None:
        self._instance = instance
        self._kinds = kinds
        self._turns = Turns(
            Link(instance.server, instance.settings.call_timeout),
            instance.keys,
            instance.settings,
            Patience("handler", instance.outage),
        )
        self._lock = threading.Lock()
        self._desk = self._new_desk(instance.incarnation)

    @property
    def desk(self) -> Desk:
        """Of the present incarnation. What was held by one before is none of our business any more."""
        if self._desk.incarnation is not self._instance.incarnation:
            with self._lock:
                incarnation = self._instance.incarnation  # within the lock, or a late one would put back an older desk
                if self._desk.incarnation is not incarnation:
                    self._desk = self._new_desk(incarnation)
        return self._desk

    def _new_desk(self, incarnation: Incarnation) -> Desk:
        clock = self._instance.clock
        return Desk(incarnation, self._kinds, Home(self._instance.keys.base, new_tag(), lambda: int(clock.now_ms())))

    @property
    def last_desk(self) -> Desk:
        """The one that was looked at last, whether or not its incarnation is over."""
        return self._desk

    def turn(
        self, desk: Desk, wants: Mapping[str, int], *, back: Iterable[Tray] = (), even_if_empty: bool = False
    ) -> None:
        """One call, if there is anything to say: see Turns.take."""
        if even_if_empty or any(wants.values()) or not desk.is_empty or self._turns.is_asked:
            self._recording(desk, lambda: self._turns.take(desk, wants, back=back, is_hopeless=self._is_hopeless))

    def ask(self, desk: Desk, wants: Mapping[str, int]) -> None:
        self._turns.ask(desk, wants)

    def await_asked(self, desk: Desk) -> None:
        self._recording(desk, lambda: self._turns.await_asked(desk, self._is_hopeless))

    def write_off(self, desk: Desk, lane: "Lane", timeout: float) -> bool:
        """See Desk.write_off; the lane is given up before anybody else may call."""
        return self._turns.write_off(desk, lane.kind, timeout, lane.too_late, lane.give_up)

    def hang_up(self) -> None:
        self._turns.hang_up()

    def _recording(self, desk: Desk, call: Callable[[], tuple[int, int]]) -> None:
        try:
            recorded, failed = call()
        except Superseded as superseded:
            self._instance.be_reborn(desk.incarnation, superseded.what)
            return
        except Unavailable:
            return  # stopping, and the server is away: what we hold will be reclaimed
        if recorded:
            self._instance.events.count_handled(recorded, failed)

    def _is_hopeless(self) -> bool:
        return self._instance.is_out_of_time
