"""The bodies of the messages that are measured with."""

from collections.abc import Callable

from soloist.demo import random_text


def maker(size: int | None) -> Callable[[], str]:
    """What makes a body: of so many bytes, or a text of the default application."""
    if size is None:
        return random_text
    text = (random_text() + " ") * (size // 80 + 1)
    body = text[:size]
    return lambda: body
