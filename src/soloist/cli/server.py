"""`server start|stop|status`: the embedded server."""

import click

from soloist.cli.output import write

NEGATIVE = 1


@click.group("server", short_help="The embedded server: start, stop, status.")
def server() -> None:
    """The embedded server of this user on this machine."""


@server.command("start")
def start() -> None:
    """Start it, if it does not run. It stops by itself when nobody has used it for ten seconds."""
    from soloist import embedded

    held = embedded.acquire()
    held.release()
    state = "started" if held.started else "it runs already"
    write(f"{state}: port {held.port}, process {held.pid}, in {held.folder}\n")


@server.command("stop")
def stop() -> None:
    """Stop it now, whoever uses it. Its data stays."""
    from soloist import embedded

    write("stopped; instances that still use it start it again\n" if embedded.stop() else "it did not run\n")


@server.command("status")
def status() -> int:
    """Whether it runs, and where. Exit 1 if it does not."""
    from soloist import embedded

    found = embedded.status()
    if found is None:
        write("it does not run\n")
        return NEGATIVE
    write(f"runs: port {found.port}, process {found.pid}, {found.version}, in {found.folder}\n")
    return 0
