"""The application of the scenario `latency`: a message now and then, whose handler writes down when it began."""

import time
from pathlib import Path

from soloist.app import App
from soloist.bench.bell import EVERY, SAMPLES
from soloist.bench.task import given
from soloist.message import Message

app = App("bench", generator_handles=False)
samples = (Path(given().folder) / SAMPLES).open("a", buffering=1)


@app.generator(every=EVERY)
def produce() -> str:
    return str(time.monotonic_ns())


@app.handler
def handle(message: Message) -> None:
    begun = time.monotonic_ns()
    samples.write(f"{message.body} {begun}\n")
