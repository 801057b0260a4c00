"""What may happen at any moment, beside the calls of the clients: each fault is a function of the world."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tests.model.calls import Call
from tests.model.client import Client
from tests.model.world import World

LOSSES = (("reply lost", 15), ("call lost", 8), ("late", 15), ("heard", 62))

SPANS_MS = {400: 2, 1_500: 3, 12_000: 4, 31_000: 3, 105_000: 1, 205_000: 2, 1_010_000: 1}
"""How often which span passes. After each of them something may have come to its end: nothing, a witness's second, the
time of a suspect, a grace, half a lease, a lease, a claim lease."""

CLAIM_LEASE_OVER = max(SPANS_MS)


def a_client_calls(world: World) -> None:
    """A client sends a call; what becomes of the call and of its answer is up to chance."""
    client = anybody(world)
    if client.joined and client.listens_as != client.id and world.chance.random() < 0.3:
        world.subscribe(client)
    _travels(world, client, client.next_call())


def the_operator_calls(world: World) -> None:
    """So does the person at the command line; what was asked comes again all too often."""
    call = world.operator.next_call(world.state)
    fate = _fate(world, call)
    if world.chance.random() < 0.3:
        world.late.append(call)
    if fate == "heard":
        world.operator.hears(call, world.execute(call))
    else:
        world.operator.hears_nothing(call)


def _travels(world: World, client: Client, call: Call) -> None:
    fate = _fate(world, call)
    if fate == "heard":
        world.send(client, call)
    else:
        client.hears_nothing(call)


def _fate(world: World, call: Call) -> str:
    """What becomes of it; if it is to be heard, the caller executes it. A connection that is given up is never read again."""
    fate = world.chance.choices([name for name, _ in LOSSES], [weight for _, weight in LOSSES])[0]
    if fate == "reply lost":
        world.execute(call, "its reply is lost")
    elif fate != "heard":
        world.tell(f"{call} — is {fate}")
    if fate == "late" or world.chance.random() < 0.1:
        world.late.append(call)
    if fate == "late" and not world.was_executed(call):
        world.overtaken.add(call)
    return fate


def a_message_fails_again(world: World) -> None:
    """It was put back, and fails once more; what was asked about the failure before is still on its way."""
    chance, idle = world.chance, [client for client in world.living() if client.joined and not client.unknown]
    handlers = [client for client in idle if not client.drains]
    if not world.state.errors or not handlers:
        return
    failure, client = chance.choice(sorted(world.state.errors.items())), chance.choice(handlers)
    world.late.append(world.operator.asks(chance.choice(("requeue", "discard")), failure))
    world.execute(world.operator.asks("requeue", failure))
    for _ in range(3):
        if client.id in world.state.lives and failure[0] not in client.held:
            world.send(client, client.wants_more())
    if failure[0] in client.held:
        world.send(client, client.fails(failure[0]))


def anybody(world: World) -> Client:
    """A client; drainers seldom, since there is little to do for them."""
    return world.chance.choices(world.clients, [1 if client.drains else 3 for client in world.clients])[0]


def a_late_copy_arrives(world: World) -> None:
    """An old call arrives, again or for the first time, often a recent one; nobody hears the answer."""
    if world.late:
        oldest = len(world.late) - 3 if world.chance.random() < 0.5 else 0
        call = world.late.pop(world.chance.randrange(max(0, oldest), len(world.late)))
        if not world.was_executed(call):
            world.execute(call, "the first copy, late")
        elif call in world.overtaken:
            world.overtaken.remove(call)
            world.execute(call, "the first copy, after the second")
        else:
            world.execute(call, "a copy after another")


def time_passes(world: World) -> None:
    """Some are heard all the while, others are frozen or cut off."""
    chance = world.chance
    present = [client.id for client in world.living()]
    often = chance.choice((0.0, 0.7, 0.7, 1.0, 1.0, 1.0))
    world.time_passes(_span(world), {ident for ident in present if chance.random() < often})


def the_clock_goes_back(world: World) -> None:
    world.time_passes(-_span(world), ())


def _span(world: World) -> int:
    return world.chance.choices([*SPANS_MS], [*SPANS_MS.values()])[0]


def somebody_judges(world: World) -> None:
    """Somebody tries to reclaim somebody, entitled or not: the script decides."""
    if world.state.lives:
        judge = world.chance.choice(world.clients)
        world.execute(judge.reclaims(world.chance.choice(sorted(world.state.lives))), "at a venture")


def is_cut_off(world: World) -> None:
    """One that holds something is silent beyond its lease, and is reclaimed; it does not know."""
    victims = sorted(of for of, held in (world.state.claimed | world.state.drained).items() if held)
    judges = [client for client in world.living() if not client.drains]
    if victims and judges:
        victim, judge = world.chance.choice(victims), world.chance.choice(judges)
        heard = {client.id for client in world.living()} - {victim}
        world.time_passes(CLAIM_LEASE_OVER, heard | {judge.id})
        world.execute(judge.reclaims(victim), "its victim was cut off")
        for client in world.clients:
            if client.id == victim and world.chance.random() < 0.5:
                _travels(world, client, client.next_call())  # it wakes
        a_suspect_has_waited(world)
        what_was_abandoned_goes_on(world)


def what_was_abandoned_goes_on(world: World) -> None:
    """Somebody else claims it, and gives it back, or leaves with it in its hands."""
    handlers = [client for client in world.living() if client.joined and not client.unknown and not client.drains]
    if handlers:
        client = world.chance.choice(handlers)
        world.send(client, client.wants_more())
        if client.held and world.chance.random() < 0.5:
            _travels(world, client, client.gives_back())
        elif client.held and world.chance.random() < 0.5:
            leaves_in_order(world)


def has_its_hands_full(world: World) -> None:
    """Somebody claims time and again, and then is done with this and that: what is left stands between holes."""
    handlers = [client for client in world.living() if client.joined and not client.unknown and not client.drains]
    if handlers:
        client = world.chance.choice(handlers)
        for _ in range(3):
            if client.id in world.state.lives and len(client.held) < 6:
                world.send(client, client.wants_more())
        for _ in range(3):
            if client.id in world.state.lives and len(client.held) > 2 and not client.unknown:
                _travels(world, client, client.works_here_and_there())


def leaves_in_order(world: World) -> None:
    """One that holds messages or records ends; another process comes in its place."""
    holders = [client for client in world.living() if client.held or client.in_print]
    if holders:
        client = world.chance.choice(holders)
        client.be_reborn()
        _travels(world, client, client.next_call())


def a_suspect_has_waited(world: World) -> None:
    """Those who hold something ask for more when a suspect of poison has waited for long: one is to make room."""
    busy = [client for client in world.living() if client.held]
    if busy and any(name.startswith("suspect:") for name in world.state.lists):
        world.time_passes(12_000, {client.id for client in world.living()})
        for client in world.chance.sample(busy, min(len(busy), 2)):
            _travels(world, client, client.unknown.get("next") or client.wants_more())


def a_will_changes(world: World) -> None:
    """A subscription begins, is lost while its process lives on, or is renewed in between two beats."""
    client = world.chance.choice(world.clients)
    if client.joined and client.listens_as != client.id:
        world.subscribe(client)
    elif client.listens_as and world.chance.random() < 0.4:
        world.unsubscribe(client)
        if world.chance.random() < 0.4:
            world.subscribe(client)


def is_killed(world: World) -> None:
    """A process is killed; or its machine loses its power, and no socket is closed."""
    world.kill(world.chance.choice(world.clients), closes=world.chance.random() < 0.7)


def is_killed_before_witnesses(world: World) -> None:
    """Somebody sees that the subscription is gone; the grace ends, or not; the witnesses beat on, and judge."""
    chance = world.chance
    victims = [client for client in world.living() if client.listens_as == client.id]
    if not victims:
        return
    holders = [client for client in victims if client.id == world.state.holder]
    victim = chance.choice(victims + holders * 2)
    ident, lives_on = victim.id, chance.random() < 0.4  # its subscription alone is gone
    witnesses = [client for client in world.living() if client is not victim]
    world.time_passes(1_500, {client.id for client in world.living()})
    if lives_on:
        world.unsubscribe(victim)
    else:
        world.kill(victim, closes=True)
    for span in chance.choice(((29_000,), (31_000,), (31_000,), (20_000, 12_000), (101_000,))):
        _see(world, witnesses)
        if witnesses and chance.random() < 0.3:
            world.execute(chance.choice(witnesses).reclaims(ident), "at a venture")
        if lives_on and chance.random() < 0.5:
            _travels(world, victim, victim.next_call())
        world.time_passes(span, {client.id for client in world.living()} - {ident})
    _see(world, witnesses)
    if lives_on and victim.listens_as != victim.id and chance.random() < 0.6:
        world.subscribe(victim)  # whoever was told to reclaim it does not know that yet
    _judge(world, witnesses)


def _see(world: World, witnesses: Sequence[Client]) -> None:
    for witness in witnesses:
        if world.chance.random() < 0.8:
            _travels(world, witness, witness.beats() if witness.joined else witness.next_call())


def _judge(world: World, witnesses: Sequence[Client]) -> None:
    """They reclaim whom they were told; but meanwhile a subscription may have come back, or be lost."""
    for client in world.living():
        if client.listens_as != client.id and world.chance.random() < 0.4:
            world.subscribe(client)
        elif world.chance.random() < 0.1:
            world.unsubscribe(client)
    for witness in witnesses:
        if witness.errands:
            _travels(world, witness, witness.next_call())


def the_term_opens_among_the_busy(world: World) -> None:
    """Its holder is silent for a lease; then the others beat, the busy and the idle, in any order."""
    chance, holder = world.chance, world.state.holder
    others = [client for client in world.living() if client.id != holder and not client.drains and client.joined]
    if holder and others:
        world.time_passes(205_000, {client.id for client in world.living()})
        chance.shuffle(others)
        for busy in (False, True):
            for client in others if busy else others[:1]:
                client.willing = True
                _travels(world, client, client.beats(busy=busy and chance.random() < 0.7))
            world.time_passes(205_000, {client.id for client in others})
            world.time_passes(chance.choice((400, 20_000, 40_000, -1_000)), ())


def a_token_is_taken(world: World) -> None:
    """Somebody takes the tokens from the bells, and is never seen again."""
    if world.state.bells:
        world.tell("the tokens are taken")
        world.link.command("DEL", *(world.store.keys.bell(kind) for kind in sorted(world.state.bells)))
        world.look()


def a_stranger_knocks(world: World) -> None:
    """An instance of another App."""
    who = replace(world.clients[0].who, id=f"stranger{world.taken}", app="another")
    if world.state.meta:
        world.execute(Call("join", who, who.id), "a stranger")


FAULTS: Mapping[Callable[[World], None], int] = {
    the_operator_calls: 36,
    a_message_fails_again: 4,
    a_late_copy_arrives: 40,
    time_passes: 16,
    the_clock_goes_back: 3,
    somebody_judges: 8,
    is_cut_off: 8,
    has_its_hands_full: 16,
    leaves_in_order: 6,
    a_suspect_has_waited: 12,
    a_will_changes: 12,
    is_killed: 4,
    is_killed_before_witnesses: 8,
    the_term_opens_among_the_busy: 4,
    a_token_is_taken: 8,
    a_stranger_knocks: 1,
    a_client_calls: 300,
}
"""How often each of them happens, among all; the usual comes last (see Chosen)."""
