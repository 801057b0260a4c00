"""A shop: orders come from a table, are billed, and dunned when nobody has paid; every night there is a report."""

from datetime import UTC, datetime

from soloist import App, Message, Msg, Page, Reject, Source

app = App("shop")
TABLE: list[dict[str, int]] = []  # think of a database
PAID: set[int] = set()
MAILS: list[str] = []


@app.source(every=5)
def orders(source: Source[None, int]) -> Page[int]:
    at = source.cursor or 0
    rows = TABLE[at : at + source.room]
    return Page([Msg("order", row, key=f"order-{row['number']}") for row in rows], cursor=at + len(rows))


@app.handler("order")
def bill(message: Message) -> None:
    order = message.json()
    if order["cents"] <= 0:
        raise Reject("nothing to pay")
    message.commit.hincrby(message.key_for("turnover"), f"article {order['article']}", order["cents"])
    message.publish("mail", f"bill {order['number']}", key=f"bill-{order['number']}")
    message.publish("dun", order["number"], delay=14 * 86_400)


@app.handler("dun")
def dun(message: Message) -> None:
    number = message.json()
    if number not in PAID:
        message.publish("mail", f"reminder {number}", key=f"reminder-{number}")


@app.handler("mail", retries=3, backoff=60)
def mail(message: Message) -> None:
    send(message.body)


@app.schedule("0 3 * * *", tz="Europe/Berlin")
def report(message: Message) -> None:
    day = datetime.fromtimestamp(message.scheduled_for or 0, UTC)
    message.publish("mail", f"report of {day:%Y-%m-%d}")


def send(mail: str) -> None:
    MAILS.append(mail)
