"""cli/main.py, `arranged`: which command is meant, wherever it stands and however it is spelled."""

import pytest

from soloist.cli.main import ALONE, arranged, cli


def words(line: str) -> list[str]:
    return line.split()


@pytest.mark.parametrize("spelling", ["getErrors", "get-errors", "--getErrors", "-getErrors", "--get-errors"])
@pytest.mark.parametrize(
    ("line", "arrangement"),
    [
        ("{}", "getErrors"),
        ("{} --json", "getErrors --json"),
        ("{} --json --limit 5", "getErrors --json --limit 5"),
        ("--json --limit 5 {}", "getErrors --json --limit 5"),
        ("--addr host:6379 {}", "getErrors --addr host:6379"),
        ("--embedded --namespace shop {} --json", "getErrors --embedded --namespace shop --json"),
    ],
)
def test_get_errors_is_understood_however_it_is_spelled(spelling: str, line: str, arrangement: str) -> None:
    """As a command and as a parameter, with one hyphen or two; options around it stay in their order."""
    assert arranged(words(line.format(spelling))) == words(arrangement)


@pytest.mark.parametrize("spelling", ["clean", "--cleanTemp", "-cleanTemp"])
def test_clean_is_understood_however_it_is_spelled(spelling: str) -> None:
    """The same for what dead instances left behind."""
    assert arranged(["--addr", "host:6379", spelling]) == ["clean", "--addr", "host:6379"]


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_options_may_stand_before_the_command_and_after_it(command: str) -> None:
    """With their values, also those that look like a command or an App."""
    before = ["--url", "redis://host", "--namespace", "status", "--lease=3", "--embedded"]

    expected = [*ALONE.get(command, "").split(), *before]
    assert arranged([*before, command]) == [command, *expected]
    assert arranged([command, *before]) == [command, *expected]


def test_options_before_a_request_for_help_are_left_out() -> None:
    """A group knows none of them."""
    assert arranged(words("--embedded schedules --help")) == words("schedules --help")


def test_an_option_whose_value_may_be_missing_takes_no_command_for_it() -> None:
    """`--watch status` watches the status, every second."""
    assert arranged(words("--watch status")) == words("status --watch")


@pytest.mark.parametrize("line", ["", "--interval 0", "--interval=0 --count 5 --until-empty", "--addr host:6379"])
def test_without_a_command_it_is_run(line: str) -> None:
    """One instance of the default application."""
    assert arranged(words(line)) == ["run", *words(line)]


@pytest.mark.parametrize(
    "line",
    ["shop.orders:app", "--addr host:6379 shop:app", "shop:app --role handler", "-- shop:app", "--events shop:app"],
)
def test_an_app_without_a_command_is_run(line: str) -> None:
    """What has a colon and stands where a command would is MODULE:APP."""
    assert arranged(words(line)) == ["run", *words(line)]


@pytest.mark.parametrize(
    ("line", "arrangement"),
    [
        ("frobnicate", "frobnicate"),
        ("frobnicate --json", "frobnicate --json"),
        ("--addr host:6379 frobnicate", "frobnicate --addr host:6379"),
        ("GETERRORS", "GETERRORS"),
    ],
)
def test_an_unknown_command_is_left_to_be_refused(line: str, arrangement: str) -> None:
    """It must not become `run` with an App of that name."""
    assert arranged(words(line)) == words(arrangement)


@pytest.mark.parametrize("line", ["--help", "-h", "--version", "--help status"])
def test_help_and_version_are_of_the_whole(line: str) -> None:
    """When they come first; after a command, help is of the command."""
    assert arranged(words(line)) == words(line)


@pytest.mark.parametrize(
    "line",
    ["status --help", "errors drain --help", "server start", "errors drain", "status --watch 2 --json", "purge --yes"],
)
def test_what_is_in_order_stays_in_order(line: str) -> None:
    """Also the commands that have commands of their own."""
    assert arranged(words(line)) == words(line)


@pytest.mark.parametrize(
    ("line", "arrangement"),
    [
        ("--addr host:6379 errors drain --json", "errors drain --addr host:6379 --json"),
        ("--embedded --namespace shop errors drain", "errors drain --embedded --namespace shop"),
        ("errors --limit 5 drain", "errors drain --limit 5"),
    ],
)
def test_options_may_stand_before_a_command_of_two_words(line: str, arrangement: str) -> None:
    """They belong to the whole command: between its words nobody takes them."""
    assert arranged(words(line)) == words(arrangement)


@pytest.mark.parametrize(
    ("line", "arrangement"),
    [
        ("status --namespace get-errors", "status --namespace get-errors"),
        ("--namespace get-errors status", "status --namespace get-errors"),
        ("purge --yes --namespace get-errors", "purge --yes --namespace get-errors"),
        ("--namespace get-errors", "run --namespace get-errors"),
    ],
)
def test_a_value_is_not_taken_for_a_spelling_of_a_command(line: str, arrangement: str) -> None:
    """Else the namespace `getErrors` would be purged in place of `get-errors`."""
    assert arranged(words(line)) == words(arrangement)


def test_an_unknown_option_is_left_to_run_which_names_it() -> None:
    """Else its value would be taken for a command, and the message would speak of that."""
    assert arranged(["--intervall", "3"]) == ["run", "--intervall", "3"]
    assert arranged(["--intervall=3", "status"]) == ["run", "--intervall=3", "status"]
