"""The verdict: what the ledger, the server and the witness say together. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from soloist.chaos.ledger import Accounts, Publication
from soloist.chaos.takeovers import Figures


@dataclass(frozen=True)
class Books:
    """What the server knows in the end.

    Attributes:
        published, completed, failed: its totals.
        left: what still waits or is held, though there was time enough.
        committed: ids that were written along with their completion, in that order.
        errors: ids that rest in the error store.
        printed: ids that getErrors printed: by each drainer that was killed, and by each that was not.
        superseded: how many calls came too late and were refused.
    """

    published: int
    completed: int
    failed: int
    left: int
    committed: Sequence[str]
    errors: Sequence[str]
    printed: Sequence[tuple[bool, Sequence[str]]] = ()
    superseded: int = 0


@dataclass(frozen=True)
class Verdict:
    """What became of a run.

    Attributes:
        lost: messages that were published, and neither completed nor failed.
        duplicated: completions and failures beyond the first of a message.
        unexpected: what was completed or failed, and was never published.
        recovered: messages that were begun more than once.
        gaps: numbers that were given twice, or never.
        overlapping_terms: pages that were accepted of a term after a later one had begun.
        wrong: everything that is not as it should be, in words.
    """

    published: int
    completed: int
    failed: int
    lost: int
    duplicated: int
    unexpected: int
    recovered: int
    gaps: int
    overlapping_terms: int
    superseded: int
    takeovers: Mapping[str, Figures] = field(default_factory=dict)
    wrong: Sequence[str] = ()

    @property
    def is_ok(self) -> bool:
        return not self.wrong

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        told = asdict(self)
        del told["takeovers"], told["wrong"]
        return told


def judge(
    books: Books,
    accounts: Accounts,
    *,
    plain: int | None = None,
    forgotten: Sequence[tuple[int, int]] = (),
    notes: Sequence[str] = (),
) -> Verdict:
    """Weigh it.

    Args:
        plain: of the App that chaos has, whose messages are numbered without a gap: every so many-th of them wrote nothing
            along when it was completed, and is known by the totals alone. None: a user's App, of which every message did.
        forgotten: times (ms) of which the server was made to forget everything. What was published in one of them may be
            gone, and its numbers may be given again; nothing else may.
        notes: what else is wrong.
    """
    ended = Counter(books.committed) + _failures(books)
    twice = sum(many - 1 for many in ended.values() if many > 1)
    lost, doubled, unexpected, gaps = max(0, books.published - len(ended)), twice, 0, 0
    if plain is not None:
        by_number: dict[int, set[str]] = {}
        gone = {ident for ident, at in accounts.begun_ms.items() if ident not in ended and _is_within(at, forgotten)}
        for ident in (ended.keys() | accounts.starts.keys()) - gone:
            by_number.setdefault(_number(ident), set()).add(ident)
        numbers = range(1, books.published + 1)
        unknown = [number for number in numbers if not any(ended[ident] for ident in by_number.get(number, ()))]
        silent = sum(1 for number in unknown if number % plain == 0)
        silently_done = books.completed - len(books.committed)
        lost = len(unknown) - silent + max(0, silent - max(0, silently_done))
        doubled = twice + max(0, silently_done - silent)
        unexpected = sum(1 for number in by_number if number not in numbers)
        gaps = sum(len(idents) - 1 for idents in by_number.values())
    overlapping = _overlapping([page for page in accounts.publications if not _is_within(page.at_ms, forgotten)])
    figures = {
        "lost": lost,
        "duplicated": doubled,
        "unexpected": unexpected,
        "numbers given twice": gaps,
        "pages of a term that was over": overlapping,
        "not done in time": books.left,
    }
    wrong = [f"{name}: {many:,}" for name, many in figures.items() if many]
    if not books.left and books.published != books.completed + books.failed:
        wrong.append(f"{books.published:,} published, but {books.completed:,} completed and {books.failed:,} failed")
    return Verdict(
        published=books.published,
        completed=books.completed,
        failed=books.failed,
        lost=lost,
        duplicated=doubled,
        unexpected=unexpected,
        recovered=sum(1 for many in accounts.starts.values() if many > 1),
        gaps=gaps,
        overlapping_terms=overlapping,
        superseded=books.superseded,
        wrong=[*wrong, *notes],
    )


def _failures(books: Books) -> Counter[str]:
    """How often each message failed, as far as that can be known: once, if it rests or was printed.

    One that was printed by a drainer that was killed may rest there again, or be printed once more by another (G8); one
    that was printed by two that were not, or rests though it was printed by one that was not, has failed twice.
    """
    surely = Counter(ident for was_killed, idents in books.printed if not was_killed for ident in idents)
    surely.update(books.errors)
    maybe = {ident for was_killed, idents in books.printed if was_killed for ident in idents}
    return surely + Counter(maybe - surely.keys())


def _overlapping(publications: Sequence[Publication]) -> int:
    """Pages in the order of their numbers, which is that in which the server took them: their terms never go down."""
    pages = sorted(publications, key=lambda page: page.first)
    return sum(1 for before, after in pairwise(pages) if after.term < before.term)


def _is_within(at_ms: int, times: Sequence[tuple[int, int]]) -> bool:
    return any(begun <= at_ms <= ended for begun, ended in times)


def _number(ident: str) -> int:
    return int(ident.partition("-")[0])
