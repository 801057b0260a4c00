from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from examples.tested import shop
from soloist.testing import Kit

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    yield
    shop.TABLE.clear()
    shop.PAID.clear()
    shop.MAILS.clear()


def test_an_order_is_billed(soloist: Kit) -> None:
    with soloist.run(shop.app) as system:
        shop.app.publish("order", {"number": 1, "article": 7, "cents": 500})
        system.wait_until_empty()

        assert shop.MAILS == ["bill 1"]
        assert system.data("turnover") == {"article 7": "500"}


def test_an_order_of_nothing_is_rejected(soloist: Kit) -> None:
    with soloist.run(shop.app) as system:
        shop.app.publish("order", {"number": 2, "article": 7, "cents": 0})
        system.wait_until_empty()

        assert [error.details.reason for error in system.errors] == ["nothing to pay"]


def test_who_has_not_paid_is_reminded_after_two_weeks(soloist: Kit) -> None:
    with soloist.run(shop.app, now=datetime(2026, 11, 19, 12, tzinfo=BERLIN)) as system:
        shop.TABLE += [{"number": number, "article": 7, "cents": 500} for number in (1, 2)]
        system.poll("orders")
        system.wait_until_empty()
        shop.PAID.add(1)
        system.step(timedelta(days=14))

        assert [mail for mail in shop.MAILS if mail.startswith("reminder")] == ["reminder 2"]


def test_the_report_comes_every_night_at_three_also_when_the_clock_goes_forward(soloist: Kit) -> None:
    with soloist.run(shop.app, now=datetime(2027, 3, 27, 12, tzinfo=BERLIN)) as system:
        system.step(to=datetime(2027, 3, 29, 12, tzinfo=BERLIN))

        assert shop.MAILS == ["report of 2027-03-28", "report of 2027-03-29"]


def test_a_mail_is_tried_again_while_the_provider_is_down(soloist: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []

    def down(mail: str) -> None:
        attempts.append(mail)
        if len(attempts) < 3:
            raise ConnectionError("the provider is down")

    monkeypatch.setattr(shop, "send", down)
    with soloist.run(shop.app) as system:
        shop.app.publish("mail", "hello")
        system.wait_until_empty()
        assert len(attempts) == 1
        system.step(60 + 120)
        assert len(attempts) == 3


def test_another_bills_what_a_killed_instance_had_in_hand(soloist: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    with soloist.run(shop.app, instances=2) as system:

        def killed_in_mid_mail(mail: str) -> None:
            shop.MAILS.append(mail)
            if len(shop.MAILS) == 1:
                system.kill(system.here)

        monkeypatch.setattr(shop, "send", killed_in_mid_mail)
        shop.app.publish("order", {"number": 3, "article": 7, "cents": 500})
        system.wait_until_empty()

        # The mail went out twice: the first attempt was not completed. Give the provider message.key, and prove it.
        assert shop.MAILS == ["bill 3", "bill 3"]
        assert system.data("turnover") == {"article 7": "500"}
        assert len(system.running) == 1
