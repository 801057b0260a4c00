"""A process that is no instance and publishes numbers in every way there is; it prints, as JSON, which id each was given.

    python -m tests.processes.publisher NAMESPACE FIRST MANY      the server as SOLOIST_URL says

Keys that are shared are published by all of these processes at once: who finds one there is told the id of that one.
"""

import json
import random
import sys
from collections.abc import Iterator

from soloist import Msg
from tests.processes.ordering import app

LARGEST = 100
SHARED = 20
"""Keys."""


def may_be_another(number: int) -> bool:
    """Whether it has a key that others have, too: one of them may be there."""
    return number % 4 == 1


def publish(numbers: list[int], chance: random.Random) -> Iterator[tuple[int, str]]:
    """Number and id, one for each."""
    number = numbers[0]
    if len(numbers) > 1:
        told = app.publish_many([Msg("number", str(each), key=f"key-{each}" if each % 3 else "") for each in numbers])
        yield from zip(numbers, told, strict=True)
    elif number % 4 == 0:  # twice: as long as the first is not completed, it is the same one
        for _ in range(2):
            yield number, app.publish("number", str(number), key=f"own-{number}", unique=True)
    elif may_be_another(number):
        yield number, app.publish("shared", str(number), key=f"shared-{chance.randrange(SHARED)}", unique=True)
    else:
        yield number, app.publish("number", str(number), delay=0.05 if number % 4 == 2 else 0)


def main() -> None:
    namespace, first, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    app.settings["namespace"] = namespace
    chance, told = random.Random(first), list[tuple[int, str]]()
    numbers = list(range(first, first + many))
    while numbers:
        length = 1 if chance.random() < 0.92 else chance.randrange(2, LARGEST)
        told += publish(numbers[:length], chance)
        del numbers[:length]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
