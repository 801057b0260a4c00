"""The entry point: which command is meant, and which exit code an error is.

Options stand before or after the command, the command may be missing, and `getErrors` has five spellings; so the words
are brought into one order before click sees them.
"""

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import NoReturn

import click

from soloist import __version__
from soloist.cli.bench import bench
from soloist.cli.chaos import chaos
from soloist.cli.clean import clean
from soloist.cli.control import handover, pause, resume
from soloist.cli.doctor import doctor
from soloist.cli.errors import errors
from soloist.cli.export import export
from soloist.cli.get_errors import get_errors
from soloist.cli.importing import import_file
from soloist.cli.log import log
from soloist.cli.monitor import monitor
from soloist.cli.output import ClosedPipe, note
from soloist.cli.prove import prove
from soloist.cli.publish import publish
from soloist.cli.purge import purge
from soloist.cli.run import run
from soloist.cli.schedules import schedules
from soloist.cli.server import server
from soloist.cli.status import status
from soloist.cli.timeline import timeline
from soloist.errors import OutputError, SoloistError

DEFECT, INTERRUPTED = 70, 130

CANNOT_BE_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write to stdout ends with that cannot go on."""

SPELLINGS = {
    "get-errors": "getErrors",
    "--getErrors": "getErrors",
    "-getErrors": "getErrors",
    "--get-errors": "getErrors",
    "--cleanTemp": "clean",
    "-cleanTemp": "clean",
}

EPILOG = """\b
Which server, before or after any command (else the embedded one):
  --addr HOST:PORT   --url URL   --embedded   and --namespace NAME
\b
Examples:
  soloist                            one instance; start it in three terminals
  soloist getErrors                  print erroneous messages and remove them
  soloist --addr redis.example:6379  the same on a server that you run
  soloist status --watch             who generates, who handles, what waits
  soloist monitor                    start four, and watch them live
  soloist --namespace million --interval 0 --count 1000000 --until-empty
\b
Exit codes:
  0 done   1 the check is negative   2 wrong usage or setting
  3 no server, or it refuses us   4 the output cannot be written
  70 a defect of ours   130 Ctrl-C
"""


@click.group(name="soloist", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="soloist")
def cli() -> None:
    """One instance generates, all others handle, each message is completed once.

    Without a command: one instance of the default application. Options may stand before or after the command.
    """


COMMANDS = (
    run, get_errors, errors, status, log, timeline, monitor, pause, resume, publish, schedules, handover, clean, purge, server, doctor, bench,
    chaos, prove, export, import_file,
)  # fmt: skip
for command in COMMANDS:
    cli.add_command(command)


ALONE = {"schedules": "list"}
"""What a group does if nothing is said behind it."""


def arranged(words: Sequence[str]) -> list[str]:
    """The words with the command (and, in a group, its command) first; `run` if there is none."""
    words = list(words)
    if any(word in ("-h", "--help", "--version") for word in words[:1]):
        return words
    at = _first_word(words)
    words[at : at + 1] = [SPELLINGS.get(word, word) for word in words[at : at + 1]]
    if at == len(words) or words[at] == "--" or (words[at] not in cli.commands and ":" in words[at]):
        return ["run", *words]
    command, rest = words[at], [*words[:at], *words[at + 1 :]]
    if isinstance(cli.commands.get(command), click.Group):
        at = _first_word(rest)
        if at < len(rest):
            return [command, rest[at], *rest[:at], *rest[at + 1 :]]
        if {"-h", "--help"} & set(rest):
            return [command, "--help"]
        if command in ALONE:
            return [command, ALONE[command], *rest]
    return [command, *rest]


def _first_word(words: Sequence[str]) -> int:
    """Where the first word stands that is neither an option nor the value of one; the end if there is none."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--", *SPELLINGS):
        if words[at].partition("=")[0] not in _options():
            return len(words)  # unknown, so what follows may be its value: `run` says which option it is
        at += 2 if words[at] in _with_value() else 1
    return at


@cache
def _options() -> dict[str, click.Option]:
    """Every option of any command, by what it is called."""
    commands = [*cli.commands.values(), *chain(*(each.commands.values() for each in (errors, schedules, server)))]
    options = [option for command in commands for option in command.params if isinstance(option, click.Option)]
    helping = click.Option(["-h", "--help"], is_flag=True)
    return {name: option for option in (*options, helping) for name in option.opts}


@cache
def _with_value() -> frozenset[str]:
    """Those that must be followed by a value; that of --watch is optional."""
    return frozenset(name for name, option in _options().items() if not option.is_flag and option.name != "watch")


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    _fill_standard_descriptors()
    _make_output_whole()
    try:
        words = arranged(sys.argv[1:] if words is None else words)
        result = cli.main(words, prog_name="soloist", standalone_mode=False, obj=words)
    except click.ClickException as error:
        with suppress(AttributeError, OSError, ValueError):  # stderr is closed: nobody can be told
            error.show()
        _exit(error.exit_code)
    except click.exceptions.Abort:
        _exit(INTERRUPTED)
    except KeyboardInterrupt:
        _exit(INTERRUPTED)
    except (ClosedPipe, BrokenPipeError, SystemExit):  # the last is click's own, when help goes into a closed pipe
        _exit(0)
    except SoloistError as error:
        note(f"soloist: {error}")
        _exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a defect of ours
        if isinstance(error, OSError) and error.errno in CANNOT_BE_WRITTEN:  # help and version are printed by click
            note(f"soloist: the output cannot be written: {error.strerror}")
            _exit(OutputError.exit_code)
        note(traceback.format_exc().rstrip())
        _exit(DEFECT)
    _exit(result if isinstance(result, int) else 0)


def _fill_standard_descriptors() -> None:
    """Nothing of ours may get the number of an output that was closed: a connection would be written to as if it were it."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _make_output_whole() -> None:
    """What is printed is printed to its last letter, or fails: an error record is removed after it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a letter still shows the rest.
        sys.stdout.reconfigure(errors="backslashreplace")
        layer: io.IOBase = sys.stdout.buffer
        if isinstance(layer, io.RawIOBase) and sys.stdout is sys.__stdout__:  # which stays, and is not closed by this
            # PYTHONUNBUFFERED takes away the layer that writes on when the system took only a part: on a disk that fills
            # up, the rest would be gone, and nobody told.
            whole = io.BufferedWriter(layer)
            sys.stdout = io.TextIOWrapper(whole, encoding=sys.stdout.encoding, errors="backslashreplace")


def _exit(code: int) -> NoReturn:
    """Exit without a word about an output that cannot be flushed: it was said already, or the reader closed the pipe."""
    for descriptor, output in ((1, sys.stdout), (2, sys.stderr)):
        try:
            output.flush()
        except (AttributeError, ValueError, OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
