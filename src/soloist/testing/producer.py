"""What `app.publish` publishes with while a system of a test is there."""

from collections.abc import Sequence

import msgspec

from soloist.producer import Producer, Wanted
from soloist.publishing import PATIENCE
from soloist.store.plug import Unplugged
from soloist.target import Target
from soloist.testing.clock import HandClock
from soloist.testing.failures import at_work_for


class KitProducer(Producer):
    """By the clock of the test; and not for the code of an instance that was killed, which is not there any more."""

    def __init__(self, goal: Target, app: str, clock: HandClock) -> None:
        settings = goal.settings
        super().__init__(goal.server, goal.namespace, app, settings.max_pending, settings.call_timeout, PATIENCE)
        self._clock = clock

    def publish(self, wanted: Sequence[Wanted]) -> list[str]:
        plug = at_work_for.get()
        if plug is not None and plug.is_pulled:
            raise Unplugged("the instance for which this code runs was killed")
        return super().publish(
            [
                msgspec.structs.replace(each, at_ms=self._clock.server_ms(each.at_ms)) if each.at_ms else each
                for each in wanted
            ]
        )
