"""beat.lua after the server went back to an older state: whoever knows more than the server is told."""

import pytest

from soloist.store.replies import Superseded
from tests.model.state import restore, save
from tests.servers import Store
from tests.store.acting import Instance, Joins, ids
from tests.store.state import nothing_changes


def test_who_has_done_what_the_server_thinks_it_holds_is_superseded(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """It has nothing to do and would call `next` no more: the message would be claimed for as long as its heart beats."""
    handler = joined()
    generator.publish(1)
    claimed = handler.next(1)
    older = save(store)
    handler.next(1, completed=ids(claimed))
    restore(store, older)

    with nothing_changes(store), pytest.raises(Superseded):
        handler.beat()

    handler.leave()
    assert ids(generator.next(1)) == ids(claimed)


def test_the_same_turn_with_another_stamp_is_forgotten_as_well(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """A late copy of its call has arrived since the server went back: that was carried out in another world."""
    handler = joined()
    older = save(store)
    call = handler.turn_call(1)
    handler.send_turn(call)
    restore(store, older)
    generator.publish(1)
    stamp = handler.stamp
    handler.send_turn(call)
    assert (handler.stamp, len(handler.claimed)) == (stamp, 1)

    with nothing_changes(store), pytest.raises(Superseded):
        handler.beat()


def test_who_knows_less_than_the_server_goes_on(generator: Instance, joined: Joins) -> None:
    """Its heart has looked before the answer came; or the answer is lost, and the call will be repeated."""
    handler = joined()
    handler.next()
    known = handler.turn, handler.stamp
    handler.next()
    handler.turn, handler.stamp = known

    assert handler.beat().role == "handler"


def test_who_has_called_nothing_yet_goes_on(store: Store, joined: Joins) -> None:
    """There is nothing that the server could have forgotten but the join."""
    handler = joined()
    restore(store, save(store))

    assert handler.beat(may_generate=False).role == "handler"
