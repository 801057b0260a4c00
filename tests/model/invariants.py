"""What must hold after every step: the rules of a state, of a transition, and of an answer that a client has heard.

The model knows which messages were published, completed and confirmed in the history that the server remembers; when
the server goes back, so does the model. What an id once stood for is never forgotten: an id never comes again.
"""

from copy import deepcopy
from dataclasses import dataclass, field

from soloist.store.messages import Claimed
from soloist.store.replies import Superseded
from soloist.store.snapshot import Found, snapshot
from tests.model.calls import Call, Reply
from tests.model.client import Client
from tests.model.state import State
from tests.servers import Store

WAITING = ("pending:", "again:", "suspect:")


class Violation(AssertionError):
    """A rule is broken."""


def rule(holds: bool, says: str) -> None:
    if not holds:
        raise Violation(says)


@dataclass
class Books:
    """What happened in the history that the server remembers.

    Attributes:
        completed: message id to the instance that completed it.
        holders: term to the instance that held it.
    """

    published: set[str] = field(default_factory=set)
    completed: dict[str, str] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    holders: dict[int, str] = field(default_factory=dict)


class Model:
    """Judges every step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claim_lease = store.settings.claim_lease_ms
        self._found = Found()
        self.books = Books()
        self._bodies: dict[str, bytes] = {}
        self._went_back = False

    def remember(self) -> Books:
        return deepcopy(self.books)

    def go_back(self, books: Books) -> None:
        self.books = deepcopy(books)
        self._went_back = True

    # A state.

    def check_state(self, state: State) -> None:
        """One place for every message, contiguous numbers, and nothing is lost."""
        books = self.books
        for ident, places in state.places.items():
            rule(len(places) == 1, f"{ident} is in {places}")
            what, _, of = places[0].partition(":")
            rule(what != "claimed" or of in state.instances, f"{ident} is claimed by {of}, which is gone")
            rule(what != "drained" or of in state.drainers, f"{ident} is drained by {of}, which is gone")
        rule(set(state.since) <= set(state.present), "one that is gone has left its hash behind")
        finished = set(books.completed) | books.confirmed
        rule(not finished & set(state.places), "what was finished stands somewhere again")
        rule(finished | set(state.places) == books.published, "published is not what waits, is held and is finished")
        count = len(books.published)
        rule(state.number("seq") == count, f"seq is {state.number('seq')}, published were {count}")
        numbers = sorted(int(ident.partition("-")[0]) for ident in books.published)
        rule(numbers == list(range(1, count + 1)), f"the numbers are {numbers}")
        rule(state.errors_by_time == state.standing("errors"), "the error store and its order disagree")
        self._check_equation()

    def _check_equation(self) -> None:
        """G3, in one atomic read, as `status` shows it."""
        seen = snapshot(self._store.link, self._store.keys, self._found)
        self._found = seen.found
        totals = {name: int(value) for name, value in seen.totals.items()}
        held = sum(instance.holds for instance in seen.instances)
        published, completed, failed = (totals.get(name, 0) for name in ("published", "completed", "failed"))
        waiting = sum(kind.waiting for kind in seen.kinds)
        rule(published == waiting + held + completed + failed, f"{published} ≠ {waiting}+{held}+{completed}+{failed}")
        rule(published == len(self.books.published), "the total of published is wrong")
        rule(completed == len(self.books.completed), f"{completed} completed, by the books {len(self.books.completed)}")
        resting = seen.errors + seen.draining + totals.get("drained", 0)
        rule(resting == failed, f"{failed} failed, {resting} in the error store, drained or confirmed")

    # A transition.

    def check_step(self, before: State, call: Call, after: State) -> None:
        """Only what this call may do was done, and only if it was entitled to it. Then the new state is checked."""
        self._check_presence(before, call, after)
        self._check_term(before, call, after)
        self._check_published(before, call, after)
        for ident in sorted(before.places):
            self._check_move(ident, before.places[ident][0], call, after.places.get(ident, [""])[0])
        self.check_state(after)

    def _check_presence(self, before: State, call: Call, after: State) -> None:
        for ident in set(after.present) - set(before.present):
            rule(call.what == "join" and call.subject == ident, f"{call.what} made {ident} present")
        for ident in set(before.present) - set(after.present):
            rule(call.what in {"leave", "reclaim"} and call.subject == ident, f"{call.what} made an end of {ident}")
            if call.what == "reclaim":
                rule(before.present[ident] < after.now_ms, f"{ident} was reclaimed, but its lease is not over")
                ripe = after.now_ms - before.since.get(call.who.id, after.now_ms) >= self._claim_lease
                rule(ripe, f"{call.who.id} was no judge")

    def _check_term(self, before: State, call: Call, after: State) -> None:
        """One holder per term; a new term only where the old one is vacant or over."""
        old, new = before.number("term"), after.number("term")
        if new == old:
            if after.holder != before.holder:
                rule(after.holder == "", f"term {new} went over to {after.holder}")
                rule(call.subject == before.holder, f"{call} ended the term of {before.holder}")
            return
        rule(call.what == "beat" and new == old + 1 and after.holder == call.who.id, f"term {old} became {new}")
        if before.holder in before.instances:
            over = before.number("deadline") < after.now_ms
            rule(over, f"term {new} began while {before.holder} held term {old}")
            ripe = after.now_ms - after.since[call.who.id] >= self._store.settings.lease_ms
            rule(ripe, f"{call.who.id} was no judge of term {old}")
        rule(self.books.holders.setdefault(new, after.holder) == after.holder, f"term {new} has two holders")

    def _check_published(self, before: State, call: Call, after: State) -> None:
        """A page is applied whole, once, in its order, for the holder of the term alone."""
        new = set(after.places) - set(before.places)
        cursor = "cursor:source"
        applied = (
            bool(new) or after.number(cursor) != before.number(cursor) or after.number("seq") != before.number("seq")
        )
        if not applied:
            return
        page = call.page
        rule(page is not None, f"{call.what} published {sorted(new)}")
        assert page is not None
        rule(call.who.id in before.instances, f"{call.who.id} published, and is gone")
        named = (call.who.id, page.term)
        rule((before.holder, before.number("term")) == named, f"{named} published in a term of {before.holder}")
        rule(new == set(call.published), f"of {call.published} {sorted(new)} were published")
        rule(page.first == before.number("seq") + 1, f"{page.first} was published after {before.number('seq')}")
        rule(page.call == before.number("call") + 1, f"call {page.call} was applied after {before.number('call')}")
        ahead = after.number(cursor) - before.number(cursor)
        rule(
            ahead == 1 or (ahead > 1 and self._went_back), f"the cursor moved by {ahead}"
        )  # empty pages may be lost then
        for envelopes in page.envelopes.values():
            for each in envelopes:
                ident = each.split(b" ", 1)[0].decode()
                rule(self._bodies.setdefault(ident, each) == each, f"the id {ident} came again for another message")
        self.books.published |= new

    def _check_move(self, ident: str, old: str, call: Call, new: str) -> None:
        """Where a message may go, by which call."""
        if old == new:
            return
        mine, drained = f"claimed:{call.subject}", f"drained:{call.subject}"
        waits = new.startswith(WAITING)
        if call.what == "next" and not new:
            allowed = old == mine and ident in call.completed
            self.books.completed[ident] = call.who.id
        elif call.what == "next":
            allowed = (
                (old.startswith(WAITING) and new == mine)
                or (old == mine and new == "errors" and ident in call.failed)
                or (old == mine and waits and ident in call.back)
            )
        elif call.what == "reclaim":
            allowed = (old == mine and (waits or new == "errors")) or (old == drained and new == "errors")
        elif call.what == "leave":
            allowed = (old == mine and waits) or (old == drained and new == "errors")
        elif call.what == "drain":
            allowed = old == "errors" and new == drained
        else:
            allowed = call.what == "confirm" and old == drained and not new and ident in call.confirmed
            self.books.confirmed.add(ident)
        rule(allowed, f"{ident} went from {old} to {new or 'nowhere'} by {call}")

    # An answer.

    def check_answer(self, client: Client, call: Call, reply: Reply, state: State) -> None:
        """What a client was told, and now believes, is so."""
        if isinstance(reply, Superseded) or client.id != call.who.id:
            return
        if isinstance(reply, Claimed):
            for ident in call.completed:
                by = self.books.completed.get(ident)
                rule(by == client.id, f"{client.id} was told that it completed {ident}; by the books {by} did")
            held = state.standing(f"claimed:{client.id}")
            rule(
                held == set(client.held), f"{client.id} believes to hold {sorted(client.held)}, held is {sorted(held)}"
            )
        elif call.page is not None:
            lost = set(call.published) - self.books.published
            rule(not lost, f"{client.id} was told that it published {sorted(lost)}")
