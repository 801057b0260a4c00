"""The screen as a function of what is known: at every size, true, and harmless."""

from dataclasses import replace
from typing import Any

import pytest

from soloist.inspector import KindSnapshot
from soloist.monitor.lines import Ground, Line, Tone, heading, line, tame, wrapped
from soloist.monitor.model import Banner, Child, Notice, Phase, Processes, State, Unanswered, View, observe
from soloist.monitor.page import KEYS, page
from soloist.monitor.views import MANUAL
from tests.monitor.samples import crew, entry, history, instance, record, seen, snapshot, state

SIZES = [(80, 24), (200, 50), (300, 100), (60, 20), (40, 12), (20, 6), (10, 3)]
NASTY = "\x1b[31m[red]x[/red]\r\n\x07\u202e\udcff\\"


def screen(known: State, width: int = 80, height: int = 24, now: float = 10.1) -> str:
    return "\n".join(each.text for each in page(known, now, width, height).lines)


def row(known: State, number: int, width: int = 80) -> list[str]:
    """The words of one row of the table."""
    found = [
        each
        for each in screen(known, width).splitlines()
        if each[:3].strip(" ▸•") == "" and each[3:].split()[:1] == [str(number)]
    ]
    assert len(found) == 1, found
    return found[0][3:].split()


@pytest.fixture
def busy() -> State:
    """Everything that there is: twenty instances, a log, errors, a history."""
    entries = [entry("joined", number=n, instance=f"id{n}", host="box", pid=1000 + n) for n in range(1, 21)]
    errors = [record(n, body=b"text " * 100) for n in range(50)]
    return state(seen(crew(19), entries=entries, errors=errors, history=history(400)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", View)
def test_a_page_fills_the_terminal_exactly(busy: State, size: tuple[int, int], view: View) -> None:
    """No line is longer or shorter, whatever is shown, and whether anything is known at all."""
    width, height = size
    for known in (busy, State(busy.scope), observe(busy, Unanswered(11, 0, "away " * 50))):
        lines = page(replace(known, view=view), 10.1, width, height).lines

        assert len(lines) == height
        assert {each.width for each in lines} == {width}


@pytest.mark.parametrize("width", [80, 200])
def test_every_figure_of_an_instance_is_in_its_row(width: int) -> None:
    """The same as in the snapshot: number, role, host, process, generated, handled, errors, holding, lease, state."""
    generator = instance(1, role="generator", host="db-3", pid=4242, generated=1_234_567)
    handler = instance(12, completed=99_000, failed=1000, claimed=7, lease_ms=3400)
    known = state(seen(snapshot(generator, handler)))

    assert row(known, 1, width)[:11] == [
        "1",
        "generator",
        "db-3",
        "4242",
        "1,234,567",
        "0",
        "0",
        "0",
        "10",
        "s",
        "alive",
    ]
    assert row(known, 12, width)[1:11] == ["handler", "box", "1012", "0", "100,000", "1,000", "7", "4", "s", "alive"]


@pytest.mark.parametrize("width", [80, 200])
def test_titles_stand_above_their_columns(width: int) -> None:
    """Numbers under the right end of their title, words under its left end."""
    lines = screen(state(seen(snapshot(instance(12, host="db-3", completed=7)))), width).splitlines()
    titles = next(each for each in lines if "generated" in each and "lease" in each)
    shown = next(each for each in lines if "db-3" in each)

    assert titles.index("host") == shown.index("db-3")
    assert titles.index("state") == shown.index("alive")
    assert titles.index("handled") + len("handled") == shown.index(" 7 ") + 2


def test_nothing_important_is_cut_at_80_columns() -> None:
    """Millions of messages, a long name of the host: it is the name that gives way."""
    many = [
        instance(
            number,
            host="a-host-with-a-very-long-name.example.org",
            pid=4_194_304,
            completed=9_999_999,
            generated=9_999_999,
        )
        for number in (1, 1000)
    ]
    text = screen(state(seen(snapshot(*many))))

    assert text.count("9,999,999") == 4
    assert text.count("4194304") == 2
    assert text.count("alive") == 2
    assert "a-hos…" in text


def test_totals_and_term_are_those_of_the_snapshot() -> None:
    shot = crew(3, published=1234, pending=5, claimed=2, completed=1200, failed=27, errors=27)
    text = screen(state(seen(shot)))

    assert "published 1,234   pending 5   claimed 2   completed 1,200   failed 27" in text
    assert "#1 generates, term 3 since " in text
    assert "(41 s)" in text
    assert "in line: #2, #3" in text
    assert "errors 27" in text
    assert "nobody generates" in screen(state(seen(snapshot(instance(2)))))


def test_what_is_paused_is_in_the_title() -> None:
    """Kinds, sources and schedules: who wonders why nothing happens looks there."""
    paused = crew(kinds={"mail": KindSnapshot(0, 0, 0, 0, paused=True)}, paused=["schedule:nightly"])
    assert "paused: mail, schedule nightly" in screen(state(seen(paused))).splitlines()[0]


def test_a_takeover_stands_out(busy: State) -> None:
    """On a line of its own, and in the log."""
    took = entry("elected", 11, instance="id2", number=2, term=4, takeover_ms=371)
    lines = page(observe(busy, seen(crew(19), at=11, entries=[took])), 11.1, 80, 24).lines

    (news,) = [each for each in lines if each.ground is Ground.NEWS]
    assert news.text.strip() == "instance #2 took over after 371 ms"
    (logged,) = [each for each in lines if "took over after 371 ms (term 4)" in each.text]
    assert Tone.GENERATOR in {span.tone for span in logged.spans}


def test_a_server_that_is_away_is_said_and_everything_is_known_to_be_old(busy: State) -> None:
    """Since when, and why."""
    lines = page(observe(busy, Unanswered(11, 0, "cannot be reached: refused")), 11, 80, 24).lines

    (alarm,) = [each for each in lines if each.ground is Ground.ALARM]
    assert alarm.text.startswith(" server away since ")
    assert "cannot be reached: refused" in alarm.text
    assert {span.tone for each in lines if " handler " in each.text for span in each.spans if span.text.strip()} == {
        Tone.DIM
    }


def test_gone_ones_are_grey() -> None:
    known = state(seen(crew(1), at=10), seen(snapshot(instance(1, role="generator")), at=10.1))
    (gone,) = [each for each in page(known, 10.2, 80, 24).lines if "gone" in each.text]

    assert {span.tone for span in gone.spans if span.text.strip()} == {Tone.DIM}


@pytest.mark.parametrize("view", View)
def test_what_comes_from_outside_cannot_touch_the_terminal(view: View) -> None:
    """Names, bodies, reasons, log fields: no control character gets through, and markup is only text."""
    shot = snapshot(instance(1, role="generator", host=NASTY, id=NASTY), app=NASTY, line=[NASTY])
    bad = record(
        1, body=NASTY.encode(errors="surrogateescape"), reason=NASTY, type=NASTY, handler=NASTY, traceback=NASTY
    )
    entries = [
        entry(NASTY, **dict[str, Any]({NASTY: NASTY})),
        entry("joined", number=1, instance=NASTY, host=NASTY, pid=NASTY),
    ]
    entries += [
        entry(event, instance=NASTY, judge=NASTY, messages=NASTY, kind=NASTY, what=NASTY, term=NASTY, takeover_ms=NASTY)
        for event in ("elected", "superseded", "reclaimed", "paused", "left", "failed")
    ]
    known = replace(state(seen(shot, entries=entries, errors=[bad])), view=view, banner=Banner(NASTY, 99))

    for width in (80, 200):
        text = screen(observe(known, Unanswered(11, 0, NASTY)), width, 50) + screen(known, width, 50)
        assert text.isprintable() or set(text) - {"\n"} == {each for each in text if each.isprintable()}
    if view in (View.MAIN, View.RECORD):
        assert "\\x1b[31m[red]x[/red]\\r\\n\\x07\\u202e\\xff\\\\" in screen(known, 300, 50)


def test_a_large_body_costs_no_more_than_is_shown() -> None:
    known = replace(state(seen(errors=[record(1, body=b"\x1b" * 16_000_001)])), view=View.RECORD)

    assert "the first 16,000 bytes of it" in screen(known)
    assert len(page(known, 10, 80, 24).lines) == 24


def test_the_selected_row_is_always_visible(busy: State) -> None:
    """With more instances than lines."""
    for number in (1, 7, 20):
        shown = page(replace(busy, selected=number), 10.1, 80, 24)
        (selected,) = [each for each in shown.lines if each.ground is Ground.SELECTED]
        assert selected.text.startswith("▸")
        assert selected.text[1:].split()[0] == str(number)
        assert number in shown.rows.values()
    assert "↑↓ 20 instances" in screen(busy)


def test_a_click_finds_its_row_and_its_key(busy: State) -> None:
    shown = page(busy, 10.1, 80, 24)
    for y, number in shown.rows.items():
        assert shown.lines[y].text[1:].split()[0] == str(number)
    foot = shown.lines[-1].text
    assert shown.keys[foot.index("kill generator")] == "k"
    assert shown.keys[foot.index("help")] == "?"


@pytest.mark.parametrize("view", View)
def test_all_keys_are_shown_at_80_columns(view: View, busy: State) -> None:
    foot = page(replace(busy, view=view), 10, 80, 24).lines[-1].text

    for key in KEYS[view].split("|"):
        assert key in foot


def test_the_main_footer_has_every_key_that_was_asked_for() -> None:
    assert [each.split()[0] for each in KEYS[View.MAIN].split("|")] == list("qkfx+-el?")


def test_the_help_fits_80x24_and_names_every_key(busy: State) -> None:
    text = screen(replace(busy, view=View.HELP))

    assert all(each.rstrip() in text for each in MANUAL.splitlines())
    for key in "qkfx+-elt":
        assert f"\n {key} " in text or f" {key} " in text


def test_the_log_view_begins_at_the_end_and_goes_back(busy: State) -> None:
    followed = screen(replace(busy, view=View.LOG), height=10)
    assert "#20 joined" in followed
    assert "#14 joined" in followed
    assert "#13 joined" not in followed

    back = screen(replace(busy, view=View.LOG, top=5), height=10)
    assert "#15 joined" in back
    assert "#20 joined" not in back
    assert "5 newer below" in back


def test_an_error_record_is_shown_whole() -> None:
    """Reason, handler, body, traceback, line by line."""
    failed = record(7, body=b"the body", reason="no order in it", traceback="Traceback:\n  File x\nValueError: y")
    known = replace(state(seen(errors=[failed])), view=View.RECORD)
    text = screen(known)

    for part in (
        "message 7-tag",
        "no order in it",
        "#2, id2, attempt 1",
        "the body",
        "8 bytes",
        "   File x",
        "ValueError: y",
    ):
        assert part in text


def test_the_answer_to_a_key_is_seen_in_every_view(busy: State) -> None:
    told = observe(busy, Notice(11, "message 7-tag waits again"))

    for view in View:
        assert "message 7-tag waits again" in screen(replace(told, view=view), now=11)
        assert "message 7-tag waits again" not in screen(
            replace(told, view=view), now=99 if view is not View.MAIN else 17
        )


def test_quitting_says_what_it_waits_for(busy: State) -> None:
    ending = replace(
        observe(busy, Processes(11, (Child(1), Child(2, phase=Phase.ENDED, code=0), Child(3)))), ending=True
    )

    assert "ending 2 instances" in screen(ending)


def test_an_empty_namespace_says_so() -> None:
    text = screen(state(seen(snapshot(app=""))))

    assert "nothing is here yet" in text
    assert "no instance is there" in text


def test_wide_letters_count_twice() -> None:
    """A line is as wide as it looks."""
    assert line("日本語のテキスト").fitted(9).width == 9
    assert {each.width <= 7 for each in wrapped("日本語のテキスト", 7)} == {True}
    assert "".join(each.text for each in wrapped("日本語のテキスト", 7)) == "日本語のテキスト"
    assert heading("log", 30).width == 30
    assert Line().fitted(0).text == ""


def test_taming_keeps_what_is_harmless() -> None:
    assert tame("grüße [b]日本[/b]") == "grüße [b]日本[/b]"
    assert tame(NASTY) == "\\x1b[31m[red]x[/red]\\r\\n\\x07\\u202e\\xff\\\\"
