"""The peers in their pinned versions, in a folder of their own: nothing of them comes into soloist's environment."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import click

HERE = Path(__file__).parent
CACHE = HERE / ".cache"

PIP: list[str | Path] = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--requirement",
    HERE / "requirements.txt",
]
NPM = ["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]


class Missing(Exception):
    """A peer cannot be measured here; the text is the reason."""


def python() -> Path:
    """The interpreter that has the Python peers."""
    folder = CACHE / "python"
    interpreter = folder / "bin" / "python"
    stamp = _stamp(sys.version, HERE / "requirements.txt")
    if not _is_made(folder, stamp):
        click.echo("installing Huey and Dramatiq …", err=True)
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", folder], HERE, "a virtual environment cannot be made")
        _run([interpreter, *PIP], HERE, "the Python peers cannot be installed")
        (folder / "stamp").write_text(stamp)
    return interpreter


def node() -> tuple[Path, Path]:
    """Node, and the folder of modules that has bee-queue."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        raise Missing("node and npm are not installed")
    folder = CACHE / "node"
    files = [HERE / "package.json", HERE / "package-lock.json"]
    stamp = _stamp(_said([program, "--version"]), *files)
    if not _is_made(folder, stamp):
        click.echo("installing bee-queue …", err=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in files:
            shutil.copy(file, folder)
        _run([npm, *NPM], folder, "bee-queue cannot be installed")
        (folder / "stamp").write_text(stamp)
    return Path(program), folder / "node_modules"


def versions() -> dict[str, str]:
    """Of all that is installed here and counts; nothing is installed for it."""
    told: dict[str, str] = {}
    if (CACHE / "python" / "stamp").is_file():
        ask = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
        names = ["huey", "dramatiq", "redis", "hiredis"]
        told |= zip(names, _said([CACHE / "python" / "bin" / "python", "-c", ask, *names]).split(), strict=True)
    program, modules = shutil.which("node"), CACHE / "node" / "node_modules"
    if program is not None and (CACHE / "node" / "stamp").is_file():
        told["node"] = _said([program, "--version"]).removeprefix("v")
        told["bee-queue"] = json.loads((modules / "bee-queue" / "package.json").read_text())["version"]
    return told


def _said(command: list[str | Path]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _stamp(*made_from: str | Path) -> str:
    """What an installation was made from. Written last: one that was interrupted half-way is made anew."""
    parts = [part.read_bytes() if isinstance(part, Path) else part.encode() for part in made_from]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _is_made(folder: Path, stamp: str) -> bool:
    file = folder / "stamp"
    return file.is_file() and file.read_text() == stamp


def _run(command: list[str | Path], folder: Path, otherwise: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Missing(f"{otherwise}: {' '.join(last) or f'exit code {done.returncode}'}")
