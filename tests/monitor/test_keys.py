"""What a key does, and to whom."""

from dataclasses import replace

import pytest

from soloist.monitor.keys import Command, Freeze, Kill, Quit, Requeue, Start, Stop, SwitchTheme, Thaw, press
from soloist.monitor.model import Child, Phase, Processes, State, View, observe
from tests.monitor.samples import crew, entry, instance, record, seen, snapshot, state

OWN = tuple(Child(1000 + number, number) for number in (1, 2, 3))


@pytest.fixture
def known() -> State:
    """#1 to #3 were started here, #4 elsewhere."""
    errors = [record(number) for number in range(9, 0, -1)]
    return observe(state(seen(crew(3), errors=errors)), Processes(11, OWN))


def told(known: State, *keys: str) -> tuple[State, list[Command], str]:
    """What comes of these keys: the state, the commands, and the last answer."""
    commands = []
    for key in keys:
        known, command = press(known, key, 12)
        commands += [command] if command is not None else []
    return known, commands, known.banner.text if known.banner else ""


def with_phase(known: State, number: int, phase: Phase) -> State:
    children = tuple(replace(each, phase=phase) if each.number == number else each for each in known.children)
    return observe(known, Processes(11, children))


def test_k_kills_the_generator(known: State) -> None:
    assert told(known, "k")[1:] == ([Kill(1001)], "killed #1 (process 1001), the generator")


def test_k_says_that_it_did_not_start_the_generator(known: State) -> None:
    """And where it is."""
    elsewhere = observe(known, seen(snapshot(instance(4, role="generator", host="db-3", pid=99)), at=12))

    assert told(elsewhere, "k")[1:] == ([], "#4 was not started here: it is process 99 on db-3")
    assert told(observe(known, seen(snapshot(instance(2)), at=12)), "k")[1:] == ([], "nobody generates at this moment")


def test_f_freezes_and_thaws_the_selected_one(known: State) -> None:
    frozen, commands, answer = told(known, "down", "f")
    assert (commands, answer) == ([Freeze(1002)], "froze #2 (process 1002); f thaws it")

    assert told(with_phase(frozen, 2, Phase.FROZEN), "f")[1:] == ([Thaw(1002)], "thawed #2 (process 1002)")


def test_x_kills_the_selected_one(known: State) -> None:
    killed, commands, _ = told(known, "down", "down", "x")
    assert commands == [Kill(1003)]

    assert told(with_phase(killed, 3, Phase.ENDED), "x")[1:] == ([], "#3 (process 1003) is gone already")


@pytest.mark.parametrize("key", ["f", "x"])
def test_only_our_own_can_be_touched(known: State, key: str) -> None:
    assert told(known, "end", key)[1:] == ([], "#4 was not started here: it is process 1004 on box")
    assert told(State(known.scope), key)[1:] == ([], "no instance is there")


def test_plus_starts_one_and_minus_stops_the_one_that_was_started_last(known: State) -> None:
    """In order; one that was asked already is not asked again."""
    assert told(known, "+")[1] == [Start()]
    assert told(known, "-")[1:] == ([Stop(1003)], "#3 (process 1003) was asked to stop")
    assert told(with_phase(known, 3, Phase.LEAVING), "-")[1] == [Stop(1002)]
    assert told(replace(known, children=()), "-")[1] == []


def test_q_ends_everything_from_everywhere(known: State) -> None:
    """Ctrl-C, too, with another exit code. Asked again, it is told again: then at once. Nothing else counts meanwhile."""
    for view in View:
        assert told(replace(known, view=view), "q")[1] == [Quit(0)]
        assert told(replace(known, view=view), "ctrl+c")[1] == [Quit(130)]
    ending, _, _ = told(known, "q")
    assert ending.ending
    assert told(ending, "k", "+", "q")[1] == [Quit(0)]


def test_the_views_open_and_close(known: State) -> None:
    for key, view in (("e", View.ERRORS), ("l", View.LOG), ("?", View.HELP)):
        opened, _, _ = told(known, key)
        assert opened.view is view
        assert told(opened, key)[0].view is View.MAIN
        assert told(opened, "escape")[0].view is View.MAIN


def test_keys_for_processes_do_nothing_where_no_process_is_shown(known: State) -> None:
    """Nobody kills what is not seen."""
    for view in (View.LOG, View.ERRORS, View.RECORD, View.HELP):
        assert told(replace(known, view=view), "k", "x", "f", "+", "-")[1] == []


def test_errors_are_browsed_read_and_put_back(known: State) -> None:
    browsing, commands, _ = told(known, "e", "down", "down", "r")
    assert commands == [Requeue("7-tag")]

    reading, commands, _ = told(browsing, "enter", "right", "r")
    assert reading.view is View.RECORD
    assert commands == [Requeue("6-tag")]
    assert told(reading, "left", "left", "r")[1] == [Requeue("8-tag")]
    assert told(reading, "escape")[0].view is View.ERRORS
    assert told(replace(known, errors=()), "e", "enter", "down", "right", "r")[1] == []


def test_the_selected_record_stays_selected_when_new_ones_come(known: State) -> None:
    browsing, _, _ = told(known, "e", "down")
    later = observe(browsing, seen(errors=[record(number) for number in range(20, 0, -1)], at=13))

    assert told(later, "r")[1] == [Requeue("8-tag")]


def test_the_log_is_scrolled_and_followed(known: State) -> None:
    full = observe(known, seen(entries=[entry("joined", number=n, instance=f"i{n}") for n in range(100)], at=13))

    assert told(full, "l", "up", "up", "down")[0].top == 1
    assert told(full, "l", "home")[0].top == 99
    assert told(full, "l", "home", "end")[0].top == 0


def test_the_selection_stays_inside(known: State) -> None:
    assert told(known, *["up"] * 3)[0].selected == 1
    assert told(known, *["down"] * 30)[0].selected == 4
    assert told(known, "pagedown", "pageup")[0].selected == 1


def test_t_switches_between_light_and_dark(known: State) -> None:
    assert told(known, "t")[1] == [SwitchTheme()]
