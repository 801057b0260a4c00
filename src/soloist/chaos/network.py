"""A host of its own for an instance: a network namespace, plugged into this one by a pair of virtual devices."""

import os
import shutil
import subprocess
from collections.abc import Sequence

FIRST = "10.213"
"""Of the addresses between here and there: a network that no one else sees."""


class Host:
    """One of them.

    Args:
        number: what tells it apart from the others of this machine.
    """

    def __init__(self, number: int) -> None:
        self.name = f"soloist{number}"
        self._device, self._inner = f"sl{number}", f"sl{number}i"
        net = f"{FIRST}.{number // 60 % 250}.{number % 60 * 4}"
        base, last = net.rsplit(".", 1)
        self.here, self._there = f"{base}.{int(last) + 1}", f"{base}.{int(last) + 2}"

    @property
    def before(self) -> Sequence[str]:
        """Words that have a command run on it."""
        return (_ip(), "netns", "exec", self.name)

    def make(self) -> None:
        """Plugged in, and ready."""
        self._make_devices()
        _do("addr", "add", f"{self.here}/30", "dev", self._device)
        _do("link", "set", self._device, "up")
        _do("-n", self.name, "addr", "add", f"{self._there}/30", "dev", self._inner)
        _do("-n", self.name, "link", "set", self._inner, "up")
        _do("-n", self.name, "link", "set", "lo", "up")

    def _make_devices(self) -> None:
        _do("netns", "add", self.name)
        _do("link", "add", self._device, "type", "veth", "peer", "name", self._inner, "netns", self.name)

    def why_not(self) -> str:
        """Why it cannot be made; empty if it can. Without addresses, which others may have meanwhile."""
        try:
            self._make_devices()
        except subprocess.CalledProcessError as error:
            return f"this kernel has no network namespaces: {error.stderr.strip()}"
        finally:
            self.remove()
        return ""

    def remove(self) -> None:
        for words in (("netns", "del", self.name), ("link", "del", self._device)):
            subprocess.run([_ip(), *words], check=False, capture_output=True)

    def unplug(self) -> None:
        """Nobody is told: no FIN, no RST."""
        _do("link", "set", self._device, "down")

    def plug_in(self) -> None:
        _do("link", "set", self._device, "up")


def why_not() -> str:
    """Why there can be no such hosts here; empty if there can."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    return Host(os.getpid()).why_not()


def _ip() -> str:
    return shutil.which("ip") or "ip"


def _do(*words: str) -> None:
    subprocess.run([_ip(), *words], check=True, capture_output=True, text=True)
