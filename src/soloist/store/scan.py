"""Finding keys by their names, for people: nothing that runs all the time may need it."""

from soloist.store.keys import Keys
from soloist.store.link import Link


def scan(link: Link, pattern: str) -> list[bytes]:
    """All keys that match, in order."""
    cursor, found = b"0", set[bytes]()
    while True:
        cursor, keys = link.command("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
        found.update(keys)
        if cursor == b"0":
            return sorted(found)


def keys_of(link: Link, keys: Keys) -> list[bytes]:
    """Every key under a namespace's name, whoever wrote it."""
    return scan(link, "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in keys.base) + "*")
