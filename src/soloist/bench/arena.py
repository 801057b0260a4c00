"""Where it is measured: a private server in a temporary folder, or fresh namespaces of a named one."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from soloist.bench.instances import Instances
from soloist.inspector import Inspector
from soloist.lab.leashed import Leash
from soloist.lab.private_server import Persistence, PrivateServer
from soloist.settings import Settings
from soloist.store.fitness import info, version
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import purge

TIMEOUT = 60.0


@dataclass(frozen=True)
class Ground:
    """One fresh namespace, and a folder for what is measured in it."""

    name: str
    keys: Keys
    link: Link
    inspector: Inspector
    folder: Path


@dataclass(frozen=True)
class Arena:
    """A server, and what is needed to measure on it."""

    server: Server
    settings: Settings
    leash: Leash
    folder: Path
    persistence: str

    @cached_property
    def about(self) -> dict[str, str]:
        """What INFO says of the server."""
        with closing(Link(self.server, TIMEOUT)) as link:
            return info(link)

    @property
    def server_name(self) -> str:
        """Such as `valkey 9.1.2`."""
        return version(self.about)[0]

    @property
    def changed_settings(self) -> str:
        """Those that are not the defaults."""
        defaults = Settings()
        changed = {each.name: getattr(self.settings, each.name) for each in fields(Settings)}
        return ", ".join(f"{name}={value}" for name, value in changed.items() if value != getattr(defaults, name))

    @contextmanager
    def ground(self) -> Iterator[Ground]:
        """A fresh namespace and a fresh folder, both removed afterwards."""
        name = f"bench-{uuid4().hex[:12]}"
        with tempfile.TemporaryDirectory(dir=self.folder) as folder, closing(Link(self.server, TIMEOUT)) as link:
            try:
                yield Ground(name, Keys(name), link, Inspector(self.server, name), Path(folder))
            finally:
                purge(link, Keys(name), data=True)

    @contextmanager
    def instances(self, ground: Ground, variables: Mapping[str, str] | None = None) -> Iterator[Instances]:
        """Instances in that namespace; whoever is left at the end is killed."""
        where = {"SOLOIST_URL": self.server.url, "SOLOIST_NAMESPACE": ground.name, **(variables or {})}
        instances = Instances(self.leash, where, self.settings, ground.folder)
        try:
            yield instances
        finally:
            instances.kill()


@contextmanager
def private_arena(settings: Settings, persistence: Persistence) -> Iterator[Arena]:
    """On a server of our own, which is gone afterwards with all that it has written."""
    with (
        Leash() as leash,
        tempfile.TemporaryDirectory(prefix="soloist-bench-") as folder,
        PrivateServer(leash, Path(folder) / "server", persistence) as started,
    ):
        kept = "none" if persistence == "no" else f"append-only file, fsync {persistence}"
        yield Arena(Server(started.url), settings, leash, Path(folder), kept)


@contextmanager
def named_arena(server: Server, settings: Settings) -> Iterator[Arena]:
    """On a server that somebody runs."""
    with Leash() as leash, tempfile.TemporaryDirectory(prefix="soloist-bench-") as folder:
        yield Arena(server, settings, leash, Path(folder), "as that server has it")
