"""The envelope: one string per message, of which scripts need to know only that it begins `ID KIND `.

`ID KIND VERSION TIME KEY_LENGTH HEADERS_LENGTH ` and then key, headers (JSON) and body without separators. TIME is the
server's, in ms. An empty key means that the id is the key; so the default costs nothing on the wire.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

VERSION = 1
NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
"""What a kind, a source or a namespace may be called: it stands in keys and between spaces."""


class Envelope(NamedTuple):
    """An envelope taken apart."""

    id: str
    kind: str
    published_at: int
    key: str
    headers: bytes
    body: bytes


def pack(message_id: str, kind: str, published_at: int, body: bytes, key: bytes = b"", headers: bytes = b"") -> bytes:
    """Make an envelope."""
    head = f"{message_id} {kind} {VERSION} {published_at} {len(key)} {len(headers)} ".encode()
    return b"".join((head, key, headers, body))


def pack_page(first: int, tag: str, kind: str, published_at: int, bodies: Iterable[bytes]) -> list[bytes]:
    """The envelopes of a page, numbered from the first, without keys and headers: in a third of the time."""
    behind_number = f"-{tag} {kind} {VERSION} {published_at} 0 0 ".encode()
    return [b"%d%b%b" % (number, behind_number, body) for number, body in enumerate(bodies, first)]


def unpack(envelope: bytes) -> Envelope:
    """Take an envelope apart."""
    message_id, kind, _version, published_at, key_length, headers_length, rest = envelope.split(b" ", 6)
    ident = message_id.decode()
    key_end = int(key_length)
    headers_end = key_end + int(headers_length)
    key = rest[:key_end].decode() if key_end else ident
    return Envelope(ident, kind.decode(), int(published_at), key, rest[key_end:headers_end], rest[headers_end:])


def id_of(envelope: bytes) -> bytes:
    """The id alone, for paths that must be quick."""
    return envelope[: envelope.index(b" ")]


def kind_of(envelope: bytes) -> str:
    """The kind alone."""
    begins = envelope.index(b" ") + 1
    return envelope[begins : envelope.index(b" ", begins)].decode()
