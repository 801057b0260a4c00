"""What this process left on a server of somebody else's is removed when it is killed, too: by a process that outlives it.

    python -m soloist.testing.sweeper

It is told the server and the beginning of the names on its standard input, and waits there for the end of whoever started it.
"""

import os
import subprocess
import sys
import threading

_lock = threading.Lock()
_watched: dict[tuple[str, int], "subprocess.Popen[bytes]"] = {}


def watch_over(url: str, prefix: str) -> None:
    """Start one for this process and server, if there is none yet."""
    with _lock:
        if (url, os.getpid()) in _watched:
            return
        sweeper = subprocess.Popen(
            [sys.executable, "-m", "soloist.testing.sweeper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
        )
        assert sweeper.stdin is not None
        sweeper.stdin.write(f"{url}\n{prefix}\n".encode())  # not as arguments: the URL may hold a password
        sweeper.stdin.flush()
        sweeper.returncode = 0  # nobody waits for it: it ends with us, and Python is not to complain of that
        _watched[url, os.getpid()] = sweeper


def main() -> None:
    """Wait for the end, and sweep."""
    url, prefix, *_ = sys.stdin.read().split("\n")  # until nobody holds the other end any more
    from soloist.testing.place import remove

    if prefix:
        remove(url, prefix)


if __name__ == "__main__":
    main()
