"""Somebody else's data under our names: which key it is, and what to do about it.

The scripts only see to it that nothing of it is changed: each meets its keys before it writes. Who is told is a person, so
finding out which key it was may take its time.
"""

from collections.abc import Sequence
from typing import cast

from soloist.errors import ForeignData, SoloistError
from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.scan import keys_of
from soloist.store.script import Script

SURVEY = Script("survey")

REMEDY = (
    "Nothing was changed. Rename or delete what is not soloist's, or name another namespace with --namespace. "
    "(`soloist purge` tells what is in this one.)"
)


def look_for_strangers(link: Link, keys: Keys) -> None:
    """Refuse a namespace in which a key of ours is of another type."""
    _refuse_first(keys, of_another_type(link, keys, _encoded(keys.single)))
    kinds = replies.texts(link.command("SMEMBERS", keys.kinds))
    _refuse_first(keys, of_another_type(link, keys, _encoded(keys.of_kinds(kinds))))


def named(link: Link, keys: Keys, error: ForeignData) -> ForeignData:
    """The same error with the name of the key, if it can be found."""
    try:
        if not error.key:
            _refuse_first(keys, of_another_type(link, keys, keys_of(link, keys)))
    except ForeignData as found:
        return found
    except SoloistError:
        pass  # whoever may not look is told what the server said
    return error


def keys_not_ours(link: Link, keys: Keys) -> list[bytes]:
    """Those under the namespace's name that soloist does not know, or knows with another type; data is the users' own."""
    found = [key for key in keys_of(link, keys) if not keys.is_data(key)]
    theirs = of_another_type(link, keys, found)
    return [key for key in found if key in theirs or keys.type_of(_text(key)) is None]


def unreadable_record(ident: str) -> ForeignData:
    """What stands in the error store under this id is no record of ours."""
    says = f"in the error store stands something that soloist did not write, under {ident!r}"
    return ForeignData(f"{says}. Look at it with HGET; HDEL and ZREM take it out.", key=ident)


def of_another_type(link: Link, keys: Keys, names: Sequence[bytes]) -> dict[bytes, str]:
    """Those of these keys that we know with another type, and that type."""
    if not names:
        return {}
    # The client sends bytes as they are: a stranger's key need not be text.
    reply = SURVEY.call(link, keys={}, args={}, more_keys=cast("Sequence[str]", names))
    replies.word(reply, "survey", "OK")
    types = dict(zip(names, replies.texts(reply[1]), strict=True))
    return {key: found for key, found in types.items() if found not in ("none", keys.type_of(_text(key)) or found)}


def before_us(keys: Keys, key: str) -> ForeignData:
    """A key is there although the namespace is not."""
    says = f"the key {key} is there, but {keys.meta}, in which soloist says whose it is, is not (or does not say it)"
    return ForeignData(f"namespace {keys.namespace!r}: {says}. {REMEDY}", key=key)


def in_the_way(keys: Keys, key: str) -> ForeignData:
    """Something stands in a list of ours that is no message."""
    says = f"what stands at the head of the list {key} is no message of soloist's: somebody else put it there"
    remedy = "It was left there. Look at it with LINDEX, and take it out with LPOP."
    return ForeignData(f"namespace {keys.namespace!r}: {says}. {remedy}", key=key)


def unreadable(keys: Keys, error: Exception) -> ForeignData:
    """What was read is not what soloist writes."""
    says = f"what stands in it is not what soloist writes ({type(error).__name__}: {error})"
    return ForeignData(f"namespace {keys.namespace!r}: {says}. {REMEDY}", key=keys.base)


def _refuse_first(keys: Keys, strangers: dict[bytes, str]) -> None:
    for key, found in strangers.items():
        says = f"the key {_text(key)} is a {found}, where soloist keeps a {keys.type_of(_text(key))}"
        raise ForeignData(f"namespace {keys.namespace!r}: {says}: somebody else wrote it. {REMEDY}", key=_text(key))


def _encoded(names: Sequence[str]) -> list[bytes]:
    return [name.encode() for name in names]


def _text(key: bytes) -> str:
    return key.decode(errors="backslashreplace")
