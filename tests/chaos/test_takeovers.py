"""How long the generator's part was vacant: which samples count, and what is told of them."""

from soloist.chaos.catalogue import Family
from soloist.chaos.ledger import Publication
from soloist.chaos.stage import Hit
from soloist.chaos.takeovers import Takeover, bound_ms, figures, takeovers
from soloist.settings import Settings

SETTINGS = Settings()
PAGES = [Publication(at, 1 if at < 1000 else 2, at, 1) for at in (800, 900, 1000, 1400, 1450)]
"""Of term 1 until 1,000 ms, of term 2 from 1,400 ms on."""

PAGES[2] = Publication(1000, 1, 1000, 1)


def hit(kind: str = "kill", at: int = 1050, ended: int = 1050, *, term: int = 1, was_generator: bool = True) -> Hit:
    return Hit(kind, Family.INSTANCE, at, ended, 1, term, was_generator, "")


def server_fault(at: int, ended: int) -> Hit:
    return Hit("stall", Family.SERVER, at, ended, 0, 1, False, "")


def found(*hits: Hit, calm: bool = True) -> list[Takeover]:
    return takeovers(hits, PAGES, SETTINGS, lambda _begun, _ended: calm)


def test_it_lasts_from_the_fault_to_the_first_page_of_a_later_term() -> None:
    assert found(hit()) == [Takeover("kill", 350, is_alone=True, is_calm=True)]


def test_a_fault_that_hit_no_generator_is_followed_by_none() -> None:
    assert found(hit(was_generator=False)) == []


def test_a_part_that_another_had_taken_already_was_not_taken_over_again() -> None:
    assert found(hit(at=1420, ended=1420)) == []


def test_a_freeze_that_was_over_long_before_is_not_the_reason() -> None:
    """It was shorter than the lease; what made another take over came later."""
    assert found(hit("freeze", at=-4000, ended=-3000)) == []


def test_another_fault_near_it_makes_it_a_sample_that_does_not_count() -> None:
    assert not found(hit(), hit("freeze", at=1200, ended=1300, was_generator=False))[0].is_alone
    assert found(hit(), hit("freeze", at=100, ended=200, was_generator=False))[0].is_alone


def test_a_fault_of_the_server_reaches_until_two_leases_after_its_end() -> None:
    lease = SETTINGS.lease_ms

    assert not found(hit(), server_fault(-2 * lease, 1050 - 2 * lease))[0].is_alone
    assert found(hit(), server_fault(-3 * lease, 1049 - 2 * lease))[0].is_alone


def test_figures_are_of_those_that_were_alone_on_a_calm_machine() -> None:
    samples = [Takeover("kill", ms, is_alone=True, is_calm=True) for ms in (300, 310, 320)]
    samples += [
        Takeover("kill", 900, is_alone=False, is_calm=True),
        Takeover("kill", 901, is_alone=True, is_calm=False),
    ]

    told = figures(samples)["kill"]

    assert (told.p50, told.max, told.samples, told.left_out) == (310, 320, 3, 2)


def test_no_figures_are_made_of_samples_that_do_not_count() -> None:
    assert figures([Takeover("kill", 900, is_alone=False, is_calm=True)]) == {}


def test_the_bound_of_a_kill_is_that_of_the_last_will_and_of_a_freeze_that_of_the_lease() -> None:
    assert bound_ms("kill", SETTINGS) == 500
    assert bound_ms("freeze", SETTINGS) == SETTINGS.lease_ms + SETTINGS.heartbeat_ms + 100
