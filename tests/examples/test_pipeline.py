"""examples/pipeline: one invoice for each order, one mail for each invoice, whoever is killed."""

from contextlib import closing

import pytest

from soloist.store.link import Link
from soloist.store.server import Server
from tests.examples.conftest import Deploy
from tests.servers import PrivateServer
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

ORDERS = 60


def test_each_order_becomes_one_mail_although_instances_are_killed(
    deploy: Deploy, server: PrivateServer, namespace: str
) -> None:
    """What a step hands on is published in the step that completes its message: killed, it is both or neither."""
    pipeline = deploy("pipeline", ORDERS=str(ORDERS))
    pipeline.start(3)
    for kill in range(1, 4):
        wait_until(lambda some=kill * ORDERS // 2: pipeline.snapshot().completed >= some, what="some are handled")  # type: ignore[misc]  # bound at once
        pipeline.kill_generator()  # it handles too
        pipeline.start()

    seen = pipeline.wait_until_handled(3 * ORDERS)
    with closing(Link(Server(server.url), timeout=5)) as link:
        mails = link.command("HGETALL", f"soloist:{{{namespace}}}:data:mails")

    assert {kind: of.completed for kind, of in seen.kinds.items()} == {
        "order": ORDERS,
        "invoice": ORDERS,
        "mail": ORDERS,
    }
    assert seen.failed == 0
    assert sum(int(count) for count in _values(mails)) == ORDERS


def _values(answered: object) -> list[bytes]:
    """Of HGETALL, which is a dictionary or a list, as the protocol goes."""
    if isinstance(answered, dict):
        return list(answered.values())
    assert isinstance(answered, list)
    return answered[1::2]
