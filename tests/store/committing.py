"""Messages that are done with something written or published along: by instances of acting.py."""

import json
from collections.abc import Sequence
from itertools import chain

from soloist.store import envelope, records
from soloist.store.messages import Claimed, Followup, Write
from tests.servers import Store
from tests.store.acting import Instance, ids
from tests.turns import Done


def key(store: Store, name: str = "it") -> str:
    """A key that may be written along with messages."""
    return f"{store.keys.base}data:{name}"


def followup(kind: str, ident: str, *, delay_ms: int = 0) -> Followup:
    return Followup(kind, envelope.pack(ident, kind, 5, b"handed on"), delay_ms)


def commits(
    instance: Instance, writes: Sequence[Write] = (), messages: Sequence[Followup] = (), *, want: int = 0
) -> Claimed:
    """Claims the next message and completes it, with these."""
    (ident,) = ids(instance.next(want=1))
    return instance.next_of({"default": Done(want, committed=[(ident, writes, messages)])})


def reasons(store: Store) -> dict[str, dict[str, object]]:
    """What the error store says, by message id."""
    found = chain(*records.pages(store.link, store.keys))
    return {record.id: json.loads(record.details) for record in found}
