"""Error records as people read them."""

import msgspec

from soloist.message import Details, ErrorRecord
from soloist.store.envelope import unpack
from soloist.store.records import Record


def record_of(stored: Record) -> ErrorRecord:
    """A stored record with its message taken apart."""
    parts = unpack(stored.envelope)
    return ErrorRecord(
        id=parts.id,
        key=parts.key,
        kind=parts.kind,
        data=parts.body,
        published_at=parts.published_at / 1000,
        failed_at=stored.failed_us / 1_000_000,
        details=msgspec.json.decode(stored.details, type=Details),
    )
