"""The files of `export` and `import`: written whole or not at all, and read twice."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from soloist.cli.output import write, write_whole
from soloist.errors import OutputError, UsageError

STANDARD = "-"
UNFINISHED = ".part"


@contextmanager
def written_whole(file: str) -> Iterator[Callable[[str], None]]:
    """What writes into the file (`-`: stdout). It stands beside its place until it is whole: what was there stays till then."""
    if file == STANDARD:
        yield write
        return
    target = Path(file)
    is_plain = target.is_file() or not target.exists()  # a device or a pipe is written to where it is
    place = target.with_name(target.name + UNFINISHED) if is_plain else target
    with _told(file):
        output = place.open("wb", buffering=0)  # what could not be written would be tried once more when it is closed
    try:
        with output:

            def put(text: str) -> None:
                with _told(file):
                    write_whole(output.fileno(), text.encode())

            yield put
            if is_plain:
                with _told(file):
                    os.fsync(output.fileno())
        if is_plain:
            with _told(file):
                place.replace(target)
    except BaseException:
        if is_plain:
            place.unlink(missing_ok=True)
        raise


@contextmanager
def _told(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}") from None


@contextmanager
def read_twice(file: str) -> Iterator[BinaryIO]:
    """The file (`-`: stdin), at its beginning, and able to go back there.

    What comes through a pipe is kept in a temporary file first: all of it must be looked at before any of it is written.
    """
    try:
        if file != STANDARD:
            with Path(file).open("rb") as opened:
                if opened.seekable():
                    yield opened
                    return
                with _kept(opened) as kept:
                    yield kept
                    return
        with _kept(sys.stdin.buffer) as kept:
            yield kept
    except AttributeError:
        raise UsageError("there is nothing on stdin: it is closed.") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None


@contextmanager
def _kept(pipe: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as kept:
        try:
            shutil.copyfileobj(pipe, kept)
            kept.seek(0)
        except OSError as error:
            raise OutputError(
                f"what comes on stdin cannot be kept in {tempfile.gettempdir()} (TMPDIR): {error.strerror}"
            ) from None
        yield cast("BinaryIO", kept)
