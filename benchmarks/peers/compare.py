"""Measure Huey, Dramatiq and bee-queue beside soloist. What is measured, and how: README.md beside this file."""

import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import install
from measure import Failed, Peer, Soloist
from report import Row, figures, table
from server import Server, started

import soloist

OURS, SMALLEST = "soloist", "soloist --batch 1"
COUNTED = ("--no-verdict", "--no-floor")
"""Messages are counted, as those of the peers, and not checked one by one."""

# As many as take three to six seconds on two cores. How many soloist needs for that it knows best itself.
MESSAGES: dict[str, int | None] = {
    OURS: None,
    SMALLEST: 20_000,
    "huey": 20_000,
    "dramatiq": 15_000,
    "bee-queue": 80_000,
    "bee-queue as it comes": 40_000,
}
PEERS = ("huey", "dramatiq", "bee-queue", "bee-queue as it comes")


class Workers(click.ParamType[list[int]]):
    """Numbers of worker processes, as in 1,2."""

    name = "N[,N…]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        words = str(value).split(",")
        if not all(word.isdecimal() and int(word) > 0 for word in words):
            self.fail(f"{value!r} is no list of numbers like 1,2.", param, ctx)
        return [int(word) for word in words]


class Peers(click.ParamType[list[str]]):
    """Names of peers, as in huey,bee-queue."""

    name = "PEER[,PEER…]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = str(value).split(",")
        if not set(names) <= set(PEERS):
            self.fail(f"{value!r} is no list of: {', '.join(PEERS)}.", param, ctx)
        return names


class Messages(click.ParamType[tuple[str, int]]):
    """How many messages for one system, as in huey=20000."""

    name = "SYSTEM=N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        system, _, count = str(value).rpartition("=")
        if system not in MESSAGES or not count.isdecimal() or int(count) < 1:
            self.fail(f"{value!r} is not SYSTEM=N with a SYSTEM of: {', '.join(MESSAGES)}.", param, ctx)
        return system, int(count)


EPILOG = """\b
Examples:
  python benchmarks/peers/compare.py
  python benchmarks/peers/compare.py --workers 2 --repeat 5 --server redis --json figures.json
  python benchmarks/peers/compare.py --peers bee-queue --messages bee-queue=200000 --without-soloist
\b
Run it with the interpreter that soloist is installed in, on a machine that does nothing else.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--workers", type=Workers(), default="1,2", show_default=True, help="Worker processes, one table row each."
)
@click.option("--messages", type=Messages(), multiple=True, help="Another number of messages; may be repeated.")
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Samples of each row.")
@click.option("--server", "which", default="valkey", show_default=True, help="valkey, redis or a program's path.")
@click.option("--peers", type=Peers(), default=",".join(PEERS), show_default=True, help="Which of them.")
@click.option("--without-soloist", is_flag=True, help="Measure the peers alone.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write every sample to this file; - for stdout.")
def main(
    workers: list[int],
    messages: Sequence[tuple[str, int]],
    repeat: int,
    which: str,
    peers: list[str],
    without_soloist: bool,
    file: Path | None,
) -> None:
    """Measure Huey, Dramatiq and bee-queue beside soloist: the same server, the same texts, the same run. One table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what we started is ended then too
    counts = MESSAGES | dict(messages)
    systems: list[Peer | Soloist] = [] if without_soloist else [Soloist(OURS, COUNTED, counts[OURS])]
    if not without_soloist:
        systems.append(Soloist(SMALLEST, (*COUNTED, "--batch", "1"), counts[SMALLEST]))
    left_out: dict[str, str] = {}
    for name in peers:
        try:
            systems.append(installed(name, counts[name] or 0))
        except install.Missing as reason:
            left_out[name] = str(reason)
    missing = len(left_out)
    with tempfile.TemporaryDirectory(prefix="soloist-peers-") as folder, started(which, Path(folder)) as server:
        rows = measured(systems, server, Path(folder), workers=workers, repeat=repeat, left_out=left_out)
        told = figures(rows, OURS)
        about = surroundings(server)
    if file is not None:
        text = json.dumps({**about, "rows": told, "left_out": left_out}, indent=2)
        click.echo(text) if str(file) == "-" else file.write_text(f"{text}\n")
    if str(file) != "-":
        click.echo(", ".join(f"{name} {value}" for name, value in about.items()) + "\n")
        click.echo(table(told, left_out))
    if len(left_out) > missing:
        sys.exit(1)  # somebody who is here could not be measured


def installed(name: str, messages: int) -> Peer:
    """A peer that is ready to be measured."""
    match name:
        case "huey" | "dramatiq":
            return Peer(name, [install.python(), install.HERE / f"{name}_peer.py"], messages)
        case "bee-queue" | "bee-queue as it comes":
            node, modules = install.node()
            program = install.HERE / "bee_queue_peer.js"
            as_it_comes = str(int(name != "bee-queue"))
            return Peer(name, [node, program], messages, {"NODE_PATH": str(modules), "AS_IT_COMES": as_it_comes})
        case _:
            raise AssertionError(name)


def measured(
    systems: Sequence[Peer | Soloist],
    server: Server,
    folder: Path,
    *,
    workers: Sequence[int],
    repeat: int,
    left_out: dict[str, str],
) -> list[Row]:
    """Everybody once, then everybody again: a machine that becomes slower then does so for all of them."""
    rows = {(system.name, count): Row(system.name, count) for count in workers for system in systems}
    for turn in range(1, repeat + 1):
        for count in workers:
            for system in systems:
                if system.name in left_out:
                    continue
                server.empty()
                try:
                    sample = system.sample(server, count, folder)
                except Failed as reason:
                    click.echo(f"{system.name} failed: {reason}", err=True)
                    left_out[system.name] = str(reason).partition("\n")[0]
                    continue
                rows[system.name, count].samples.append(sample)
                click.echo(f"{turn}/{repeat} {system.name}, {count} workers: {sample.rate:,.0f} messages/s", err=True)
    return [row for row in rows.values() if row.system not in left_out]


def surroundings(server: Server) -> dict[str, object]:
    """What figures mean nothing without."""
    return {
        "server": server.version,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "soloist": soloist.__version__,
        **install.versions(),
    }


if __name__ == "__main__":
    main()
