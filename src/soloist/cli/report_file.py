"""Pages that commands write into files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soloist.errors import OutputError


def require_writable(file: str) -> None:
    """Say what cannot be written before the work is done. What is there stays as it is, and so does what is not."""
    path = Path(file)
    is_new = not os.path.lexists(path)
    with _told(file), path.open("a"):
        pass
    if is_new:
        path.unlink(missing_ok=True)


def save(file: str, text: str) -> None:
    """Write it; what was there is replaced."""
    with _told(file):
        Path(file).write_text(text, encoding="utf-8")  # as it says in it, whatever this system prefers


@contextmanager
def _told(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"the report cannot be written to {file}: {error.strerror}") from None
