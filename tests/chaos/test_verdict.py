"""The verdict of a run of chaos: what is lost, doubled, unexpected or overlapping, and what only looks like it."""

from collections import Counter
from dataclasses import replace

from soloist.chaos.ledger import Accounts, Publication
from soloist.chaos.verdict import Books, judge

PLAIN = 4
"""Every fourth message is known by the totals alone."""


def ids(*numbers: int, tag: str = "t") -> list[str]:
    return [f"{number}-{tag}" for number in numbers]


def accounts(*begun: str, pages: tuple[Publication, ...] = ()) -> Accounts:
    return Accounts([*pages], Counter(begun), dict.fromkeys(begun, 100))


BOOKS = Books(published=8, completed=7, failed=1, left=0, committed=ids(1, 2, 3, 5, 6), errors=ids(7))
"""Eight messages: 4 and 8 were completed without a word, 7 failed."""

WELL = accounts(*ids(*range(1, 9)))


def test_all_is_well() -> None:
    verdict = judge(BOOKS, WELL, plain=PLAIN)

    assert verdict.is_ok
    assert (verdict.lost, verdict.duplicated, verdict.unexpected, verdict.recovered) == (0, 0, 0, 0)


def test_a_message_that_is_neither_completed_nor_failed_is_lost() -> None:
    """Whatever the totals say."""
    verdict = judge(replace(BOOKS, committed=ids(1, 2, 5, 6), completed=6), WELL, plain=PLAIN)

    assert verdict.lost == 1
    assert not verdict.is_ok


def test_a_message_that_wrote_nothing_along_is_lost_if_the_totals_lack_it() -> None:
    assert judge(replace(BOOKS, completed=6), WELL, plain=PLAIN).lost == 1


def test_a_second_completion_is_a_double() -> None:
    verdict = judge(replace(BOOKS, committed=ids(1, 2, 3, 5, 6, 6), completed=8), WELL, plain=PLAIN)

    assert verdict.duplicated == 1
    assert not verdict.is_ok


def test_a_message_that_was_completed_and_failed_is_a_double() -> None:
    assert judge(replace(BOOKS, errors=ids(7, 6)), WELL, plain=PLAIN).duplicated == 1


def test_a_completion_too_many_of_those_that_wrote_nothing_along_is_a_double() -> None:
    assert judge(replace(BOOKS, completed=8), WELL, plain=PLAIN).duplicated == 1


def test_totals_that_do_not_add_up_are_wrong_though_each_message_is_there() -> None:
    assert not judge(replace(BOOKS, failed=2), WELL, plain=PLAIN).is_ok


def test_what_was_never_published_is_unexpected() -> None:
    verdict = judge(replace(BOOKS, committed=[*BOOKS.committed, "9-t"], completed=8, failed=0), WELL, plain=PLAIN)

    assert verdict.unexpected == 1


def test_a_message_that_was_begun_twice_is_recovered_and_nothing_is_wrong() -> None:
    verdict = judge(BOOKS, accounts(*ids(*range(1, 9)), "3-t"), plain=PLAIN)

    assert verdict.recovered == 1
    assert verdict.is_ok


def test_a_number_that_was_given_to_two_messages_is_told() -> None:
    verdict = judge(BOOKS, accounts(*ids(*range(1, 9)), "3-other"), plain=PLAIN)

    assert verdict.gaps == 1
    assert not verdict.is_ok


def test_what_a_server_was_made_to_forget_may_be_published_anew() -> None:
    """Only then: its number is given again, to another message."""
    begun = accounts(*ids(*range(1, 9)), "3-other")

    assert judge(BOOKS, begun, plain=PLAIN, forgotten=[(50, 150)]).is_ok
    assert not judge(BOOKS, begun, plain=PLAIN, forgotten=[(150, 200)]).is_ok


def test_a_page_of_a_term_that_was_over_overlaps() -> None:
    pages = (Publication(10, 1, 1, 2), Publication(20, 2, 3, 2), Publication(30, 1, 5, 2))

    verdict = judge(BOOKS, accounts(*ids(*range(1, 9)), pages=pages), plain=PLAIN)

    assert verdict.overlapping_terms == 1
    assert not verdict.is_ok


def test_pages_of_one_term_after_another_do_not_overlap_whenever_their_writers_were_told() -> None:
    """The numbers say in which order the server took them; a generator may hear of its page late."""
    pages = (Publication(40, 1, 1, 2), Publication(20, 2, 3, 2), Publication(30, 2, 5, 2))

    assert judge(BOOKS, accounts(*ids(*range(1, 9)), pages=pages), plain=PLAIN).is_ok


def test_what_is_left_though_there_was_time_is_wrong() -> None:
    assert not judge(replace(BOOKS, left=1), WELL, plain=PLAIN).is_ok


def test_what_a_killed_drainer_printed_may_rest_again_or_be_printed_again() -> None:
    """G8: it died between flush and confirmation."""
    killed = (True, ids(7))

    assert judge(replace(BOOKS, printed=[killed]), WELL, plain=PLAIN).is_ok
    assert judge(replace(BOOKS, printed=[killed], errors=[]), WELL, plain=PLAIN).is_ok
    assert judge(replace(BOOKS, printed=[killed, (False, ids(7))], errors=[]), WELL, plain=PLAIN).is_ok


def test_what_a_drainer_printed_to_its_end_rests_no_more() -> None:
    whole = (False, ids(7))

    assert judge(replace(BOOKS, printed=[whole], errors=[]), WELL, plain=PLAIN).is_ok
    assert judge(replace(BOOKS, printed=[whole]), WELL, plain=PLAIN).duplicated == 1
    assert judge(replace(BOOKS, printed=[whole, whole], errors=[]), WELL, plain=PLAIN).duplicated == 1


def test_of_a_users_app_messages_are_counted_whatever_their_numbers() -> None:
    """What handlers publish has numbers of its own."""
    books = Books(published=3, completed=2, failed=1, left=0, committed=["1-a", "1-b"], errors=["2-a"])

    assert judge(books, accounts("1-a", "1-b", "2-a")).is_ok
    assert judge(replace(books, committed=["1-a"]), accounts()).lost == 1
    assert judge(replace(books, committed=["1-a", "1-b", "1-b"]), accounts()).duplicated == 1


def test_what_else_is_wrong_makes_the_verdict_negative() -> None:
    assert not judge(BOOKS, WELL, plain=PLAIN, notes=["an instance crashed"]).is_ok
