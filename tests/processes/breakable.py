"""An App with two kinds, in a file that cannot be imported while there is a file `broken` in the test's folder."""

from soloist import App, Message, Msg, Page
from tests.processes.apps import FOLDER

if (FOLDER / "broken").exists():
    raise RuntimeError("somebody is at it")

app = App("breakable", stop_timeout=10)


@app.source(every=0.05)
def both() -> Page[None]:
    return Page([Msg("mail", "a letter"), Msg("parcel", "a box")])


@app.handler("mail")
@app.handler("parcel")
def carry(_message: Message) -> None:
    pass
