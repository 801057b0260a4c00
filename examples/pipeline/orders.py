"""A pipeline of three kinds: an order becomes an invoice, the invoice a mail; each step hands on exactly what it completes.

    soloist run examples.pipeline.orders:app --embedded

ORDERS says how many there are in all, so that it comes to an end.
"""

import os

import msgspec

from soloist import App, Message, Msg, Page, Reject, Source

ORDERS = int(os.environ.get("ORDERS", "100"))
VAT = 19  # per cent


class Order(msgspec.Struct):
    number: int
    customer: str
    net_cents: int


class Invoice(msgspec.Struct):
    order: Order
    total_cents: int


app = App("orders")


@app.source(every=0.1)
def orders(source: Source[None, int]) -> Page[int] | None:
    last = source.cursor or 0
    made = [Order(n, f"customer-{n % 7}", 100 * n) for n in range(last + 1, min(last + 5, ORDERS) + 1)]
    if not made:
        return None
    return Page([Msg("order", order, key=f"order-{order.number}") for order in made], cursor=last + len(made))


@app.handler("order")
def bill(message: Message) -> None:
    order = message.json(Order)
    if order.net_cents <= 0:
        raise Reject("nothing to pay")  # then nothing is handed on either
    # Published in the step that completes this message. Killed before it, the order is handled again and no invoice of the
    # first attempt exists; killed after it, the order is not handled again: one invoice for each order, whatever happens.
    invoice = Invoice(order, order.net_cents * (100 + VAT) // 100)
    message.publish("invoice", invoice, key=f"invoice-{order.number}")


@app.handler("invoice", concurrency=4)
async def announce(message: Message) -> None:
    invoice = message.json(Invoice)
    text = f"Dear {invoice.order.customer}, please pay {invoice.total_cents / 100:.2f}."
    message.publish("mail", {"to": invoice.order.customer, "text": text}, key=f"mail-{invoice.order.number}", delay=0.2)


@app.handler("mail")
def send(message: Message) -> None:
    # Sending it would be here. What is counted is counted in the step that completes the message: once for each mail.
    message.commit.hincrby(message.key_for("mails"), message.json()["to"], 1)
