"""The default application, which is the assignment: a text every 500 ms, one in twenty found erroneous."""

import random
from itertools import accumulate

from soloist.app import App
from soloist.errors import Reject
from soloist.message import Message

NAME = "demo"
INTERVAL = 0.5
ERROR_RATE = 0.05
SHORTEST, LONGEST = 80, 100

_OPENINGS = "b c d f g h j k l m n p r s t v w br dr gr kl pl st tr".split()
_MIDDLES = "a e i o u ai ea io ou".split()
_ENDINGS = ["", "", "", "n", "r", "s", "l", "m", "nt", "st"]


def _prepared() -> tuple[str, list[tuple[int, int]]]:
    """A long text of made-up words, and every stretch of whole words in it of the right length.

    Making words one by one takes 40 µs a text; cutting a stretch out of this takes 0.3.
    """
    made = random.Random(20)
    words = [
        "".join(made.choice(part) for _ in range(made.randint(1, 3)) for part in (_OPENINGS, _MIDDLES, _ENDINGS))[:11]
        for _ in range(3000)
    ]
    starts = [0, *accumulate(len(word) + 1 for word in words)]
    ends = {start - 1 for start in starts}
    stretches = [
        (start, end) for start in starts[:-40] for end in range(start + SHORTEST, start + LONGEST + 1) if end in ends
    ]
    return " ".join(words), stretches


_TEXT, _STRETCHES = _prepared()
_COUNT = len(_STRETCHES)
_random = random.random


def random_text() -> str:
    """Readable text of 80 to 100 characters."""
    start, end = _STRETCHES[int(_random() * _COUNT)]
    return _TEXT[start:end]


def build(interval: float = INTERVAL, error_rate: float = ERROR_RATE) -> App:
    """The application with the assignment's two numbers."""
    app = App(NAME, generator_handles=False)

    @app.generator(every=interval)
    def produce() -> str:
        return random_text()

    @app.handler
    def handle(_message: Message) -> None:
        if random.random() < error_rate:
            raise Reject("found erroneous")

    return app
