"""An App whose messages are numbers, published by processes that are no instances; each run writes down what it handled."""

from soloist import App, Message

app = App("ordering")


@app.handler("number")
def handle(message: Message) -> None:
    message.commit.rpush(message.key_for("handled"), f"{message.body} {message.id}")


@app.handler("shared")
def handle_shared(message: Message) -> None:
    handle(message)
