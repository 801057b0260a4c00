"""What must hold after every step: the rules of a state, of a transition, and of an answer that a client has heard.

The model knows which messages were published, completed and confirmed in the history that the server remembers; when
the server goes back, so does the model. What an id once stood for is never forgotten: an id never comes again.
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field

from soloist.settings import Settings
from soloist.store.messages import Claimed
from soloist.store.replies import Superseded
from tests.model import judging
from tests.model.calls import Call, Reply
from tests.model.client import Client
from tests.model.expected import expected
from tests.model.state import State
from tests.model.step import Step

WAITING = ("pending:", "again:", "suspect:")
REFUSALS = {"SUPERSEDED", "SUPERSEDED term", "GONE", "TAKEN", "APP", "EMPTY", "KINDS"}
"""Answers after which nothing has changed: the caller need not count as heard."""


class Violation(AssertionError):
    """A rule is broken."""


def rule(holds: bool, says: str) -> None:
    if not holds:
        raise Violation(says)


@dataclass
class Books:
    """What happened in the history that the server remembers.

    Attributes:
        handed_on: those of the published that were published along with others.
        completed: message id to the instance that completed it.
        sums: message id to what was added to the sum along with it.
        holders: term to the instance that held it.
        heard: id to the moment of its last call that was not refused, server ms.
    """

    published: set[str] = field(default_factory=set)
    handed_on: set[str] = field(default_factory=set)
    completed: dict[str, str] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    discarded: set[str] = field(default_factory=set)
    holders: dict[int, str] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)


class Model:
    """Judges every step. Attributes: transitions, how often each of them was made, in the words of the protocol."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.books = Books()
        self._bodies: dict[str, bytes] = {}
        self._kinds: dict[str, str] = {}
        self._went_back = False
        self.transitions: Counter[str] = Counter()

    def remember(self) -> Books:
        return deepcopy(self.books)

    def go_back(self, books: Books) -> None:
        self.books = deepcopy(books)
        self._went_back = True

    def time_passes(self, ms: int, heard: Iterable[str], now: int) -> None:
        """So much time passed, and these were heard all the while; a clock that goes back makes no silence shorter."""
        past = {ident: at - max(0, ms) for ident, at in self.books.heard.items()}
        self.books.heard = past | dict.fromkeys(heard, now)

    # A state.

    def check_state(self, state: State) -> dict[str, list[str]]:
        """One place for every message, and nothing is lost. Answers the places."""
        books, places = self.books, state.places()
        for ident, found in places.items():
            rule(len(found) == 1, f"{ident} is in {found}")
        for of in state.claimed:
            rule(of in state.lives and not state.lives[of].drains, f"{of} holds messages, and is no instance")
        for of in state.drained:
            rule(of in state.lives and state.lives[of].drains, f"{of} holds records, and is no drainer")
        finished = books.completed.keys() | books.confirmed | books.discarded
        rule(not finished & places.keys(), "what was finished stands somewhere again")
        rule(finished | places.keys() == books.published, "published is not what waits, is held and is finished")
        rule(state.number("seq") == len(books.published) - len(books.handed_on), f"seq is {state.number('seq')}")
        written, right = state.data.get("data:sum", 0), sum(books.sums.values())
        rule(written == right, f"the sum in Redis is {written}, over all completed messages it is {right}")
        self._check_suspects(state)
        self._check_equation(state)
        return places

    def _check_suspects(self, state: State) -> None:
        """A suspect of poison is held alone."""
        suspects = {ident for ident, of in state.attempts.items() if of.deaths >= self._settings.max_attempts - 1}
        for of, held in state.claimed.items():
            rule(len(held) == 1 or not suspects & set(held), f"{of} holds a suspect among {held}")

    def _check_equation(self, state: State) -> None:
        """G3, and the totals are what the books say. That `status` shows the same is for the history to look at."""
        books, totals = self.books, state.totals
        waiting = state.pending
        held = sum(map(len, state.claimed.values()))
        resting = len(state.errors) + sum(map(len, state.drained.values()))
        published, completed, failed = (totals.get(name, 0) for name in ("published", "completed", "failed"))
        rule(published == waiting + held + completed + failed, f"{published} ≠ {waiting}+{held}+{completed}+{failed}")
        rule(published == len(books.published), "the total of published is wrong")
        rule(completed == len(books.completed), f"{completed} completed, by the books {len(books.completed)}")
        removed = len(books.confirmed) + len(books.discarded)
        rule(failed == resting + removed, f"{failed} failed, {resting} rest, {removed} were removed")
        rule(totals.get("drained", 0) == len(books.confirmed), "the total of drained is wrong")
        rule(totals.get("discarded", 0) == len(books.discarded), "the total of discarded is wrong")

    # A transition.

    def check_step(
        self, before: State, call: Call, word: str, reply: Reply, after: State, there: AbstractSet[str]
    ) -> None:
        """Only what this call may do was done, and only if it was entitled to it; and all of it was done."""
        self._check_presence(before, call, after, there)
        self._check_term(before, call, after)
        self._check_published(before, call, after)
        old, new = before.places(), after.places()
        self._check_handed_on(call, old, new)
        if old != new:
            for ident in sorted(old):
                self._check_move(before, ident, old[ident][0], call, new.get(ident, [""])[0], after)
        self.check_state(after)
        if word not in REFUSALS and call.what not in {"reclaim", "leave"}:
            self.books.heard[call.who.id] = after.now_ms
        words, right = expected(Step(self._settings, before, call, reply, after, there, self._kinds))
        rule(word in words, f"{call} was answered {word}, right is {' or '.join(sorted(words))}")
        wrong = after.differences(right)
        rule(not wrong, f"{call} -> {word}: found | right\n    " + "\n    ".join(wrong))

    def _check_presence(self, before: State, call: Call, after: State, there: AbstractSet[str]) -> None:
        """Nobody is declared gone who may be alive."""
        for ident in after.lives.keys() - before.lives.keys():
            rule(call.what == "join" and call.subject == ident, f"{call.what} made {ident} present")
        for ident in before.lives.keys() - after.lives.keys():
            rule(call.what in {"leave", "reclaim"} and call.subject == ident, f"{call.what} made an end of {ident}")
            by_will = call.what == "reclaim" and not before.lives[ident].deadline < after.now_ms
            if by_will:
                self._check_will(before, ident, call.who.id, after.now_ms, there)
            of = "drainer" if before.lives[ident].drains else "instance"
            self.transitions[f"{call.what}: {of} gone{' by will' if by_will else ''}"] += 1

    def _check_will(self, before: State, ident: str, judge: str, now: int, there: AbstractSet[str]) -> None:
        """Grace: who is judged by will was not heard all the while, and its subscription is gone."""
        silence = now - self.books.heard.get(ident, now)
        rule(silence >= judging.grace_of(before.lives[ident]), f"{ident} was judged, and was heard {silence} ms ago")
        rule(ident not in there, f"{ident} was judged by will, and is subscribed")
        rule(judge in there, f"{judge} judged by will, and is not subscribed")

    def _check_term(self, before: State, call: Call, after: State) -> None:
        """One holder per term; the number only grows; a new term only where the old one is vacant or over."""
        old, new = before.number("term"), after.number("term")
        if new == old:
            if after.holder != before.holder:
                rule(after.holder == "", f"term {new} went over to {after.holder}")
                rule(call.subject == before.holder, f"{call} ended the term of {before.holder}")
                self.transitions[f"{call.what}: term vacated"] += 1
            return
        rule(call.what == "beat" and new == old + 1 and after.holder == call.who.id, f"term {old} became {new}")
        rule(self.books.holders.setdefault(new, after.holder) == after.holder, f"term {new} has two holders")
        held, over = before.holder in before.lives, before.number("deadline") < after.now_ms
        self.transitions[
            f"beat: elected, the term was {'over' if held and over else 'held' if held else 'vacant'}"
        ] += 1
        if held and not over:
            silence = after.now_ms - self.books.heard.get(before.holder, after.now_ms)
            rule(silence >= judging.GRACE_MS, f"{before.holder} was deposed, and was heard {silence} ms ago")

    def _check_published(self, before: State, call: Call, after: State) -> None:
        """A page is applied whole, once, in its order, for the holder of the term alone."""
        cursor = "cursor:source"
        ahead = after.number(cursor) - before.number(cursor)
        if not ahead and all(after.number(name) == before.number(name) for name in ("seq", "call")):
            return
        if call.page is None and after.number("term") > before.number("term"):
            return  # a new term begins with call 0
        page, new = call.page, set(call.published)
        rule(page is not None, f"{call.what} moved the numbers")
        assert page is not None
        named = (call.who.id, page.term)
        rule(call.who.id in before.lives, f"{call.who.id} published, and is gone")
        rule((before.holder, before.number("term")) == named, f"{named} published in a term of {before.holder}")
        rule(page.first == before.number("seq") + 1, f"{page.first} was published after {before.number('seq')}")
        rule(page.call == before.number("call") + 1, f"call {page.call} was applied after {before.number('call')}")
        moved = page.cursor is not None
        rule(
            ahead == moved or (ahead > 1 and self._went_back), f"the cursor moved by {ahead}"
        )  # empty pages may be lost
        for kind, envelopes in page.envelopes.items():
            for each in envelopes:
                ident = each.split(b" ", 1)[0].decode()
                rule(self._bodies.setdefault(ident, each) == each, f"the id {ident} came again for another message")
                self._kinds[ident] = kind
        self.books.published |= new
        self.transitions["publish: published"] += len(new)
        numbers = sorted(int(ident.partition("-")[0]) for ident in self.books.published - self.books.handed_on)
        rule(numbers == list(range(1, len(numbers) + 1)), f"the numbers are {numbers}")

    def _check_handed_on(self, call: Call, old: dict[str, list[str]], new: dict[str, list[str]]) -> None:
        """With a message that is completed all that it hands on is published, and its number is in the sum."""
        for ident, (writes, followups) in call.committed.items():
            is_completed = old.get(ident) == [f"claimed:{call.who.id}"] and ident not in new
            if is_completed:
                self.books.sums[ident] = sum(int(each.arguments[0]) for each in writes if each.key.endswith(":sum"))
            for kind, envelope, _ in followups if is_completed else ():
                handed_on = envelope.split(b" ", 1)[0].decode()
                rule(self._bodies.setdefault(handed_on, envelope) == envelope, f"the id {handed_on} came again")
                self._kinds[handed_on] = kind
                self.books.published.add(handed_on)
                self.books.handed_on.add(handed_on)
                self.transitions["next: handed on"] += 1

    def _check_move(self, before: State, ident: str, old: str, call: Call, new: str, after: State) -> None:
        """Where a message may go, by which call."""
        if old == new:
            return
        mine, drained = f"claimed:{call.subject}", f"drained:{call.subject}"
        waits = new.startswith(WAITING)
        match call.what:
            case "next" if not new:
                allowed = old == mine and (ident in call.completed or ident in call.committed)
                self.books.completed[ident] = call.who.id
            case "next":
                paused = self._kinds[ident] in before.paused
                allowed = (
                    (old.startswith(WAITING) and new == mine and not paused)
                    or (old == mine and new == "errors" and (ident in call.failed or ident in call.committed))
                    or (old == mine and new == f"delayed:{self._kinds[ident]}" and ident in call.retried)
                    or (old == mine and waits and ident in call.back)
                )
            case "beat":
                is_due = before.delayed.get(old, {}).get(ident, after.now_ms + 1) <= after.now_ms
                allowed = is_due and new in {f"{what}{self._kinds[ident]}" for what in WAITING}
            case "reclaim":
                allowed = (old == mine and (waits or new == "errors")) or (old == drained and new == "errors")
            case "leave":
                allowed = (old == mine and waits) or (old == drained and new == "errors")
            case "drain":
                allowed = old == "errors" and new == drained
            case "confirm":
                allowed = old == drained and not new and ident in call.confirmed
                self.books.confirmed.add(ident)
            case "requeue":
                named = (ident, before.errors.get(ident)) in call.failures
                allowed = old == "errors" and new == f"pending:{self._kinds[ident]}" and named
            case "discard":
                allowed = old == "errors" and not new and (ident, before.errors.get(ident)) in call.failures
                self.books.discarded.add(ident)
            case _:
                allowed = False
        rule(allowed, f"{ident} went from {old} to {new or 'nowhere'} by {call}")
        self.transitions[f"{call.what}: {old.partition(':')[0]} -> {new.partition(':')[0] or 'gone'}"] += 1

    # An answer.

    def check_answer(self, client: Client, call: Call, reply: Reply, state: State) -> None:
        """What a client was told, and now believes, is so."""
        if isinstance(reply, Superseded) or client.id != call.who.id:
            return
        if isinstance(reply, Claimed):
            refused = {each.decode() for each in reply.refused}
            for ident in {*call.completed, *call.committed} - refused:
                by = self.books.completed.get(ident)
                rule(by == client.id, f"{client.id} was told that it completed {ident}; by the books {by} did")
            held = state.claimed.get(client.id, [])
            rule(held == [*client.held], f"{client.id} believes to hold {[*client.held]}, not {held}")
        elif call.page is not None and isinstance(reply, int):
            lost = set(call.published) - self.books.published
            rule(not lost, f"{client.id} was told that it published {sorted(lost)}")
