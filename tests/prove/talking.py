"""An App that prints, as a real process imports it."""

from soloist import App, Message

print("imported")
app = App("talking")


@app.handler
def handle(message: Message) -> None:
    print("handling", message.body)


def fails() -> None:
    raise OSError("no")
