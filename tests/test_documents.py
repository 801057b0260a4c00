"""What must agree although it stands in different places: documents, and the commands and settings of which they speak."""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator

import click
import pytest

from soloist import narrative
from soloist import settings as all_settings
from soloist.cli import account
from soloist.cli.connection import CONNECTION, option_name
from soloist.cli.main import SPELLINGS, arranged, cli
from soloist.settings import NAMES, Settings, about, check
from soloist.store.log import LogEntry
from tests.documents import ROOT, Document, code_spans, options_in


def all_commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))


EVERY_COMMAND = dict(all_commands())
SHARED = {*map(option_name, CONNECTION), *NAMES}
"""Parameters that all commands have; a document says them once."""


def options_of(command: click.Command) -> set[str]:
    return {
        word
        for option in command.params
        if isinstance(option, click.Option) and option.name not in SHARED
        for word in (*option.opts, *option.secondary_opts)
    }


def shared_options() -> set[str]:
    return {word for option in EVERY_COMMAND["run"].params if option.name in SHARED for word in option.opts}


@pytest.fixture
def operations() -> Document:
    return Document("docs/operations.md")


@pytest.mark.parametrize("name", NAMES)
def test_the_manual_has_every_setting(name: str, operations: Document) -> None:
    """In one row: name, flag, variable, default as the help shows it."""
    rows = [row for section in operations.sections for row in section.rows if row[0] == f"`{name}`"]
    flag, variable = "--" + name.replace("_", "-"), all_settings.ENVIRONMENT_PREFIX + name.upper()

    assert len(rows) == 1
    cells = [cell.strip("`").replace(",", "") for cell in rows[0]]
    assert [flag, variable, about(name)["shown"]] == cells[1:4]


def test_the_manual_has_a_file_with_every_setting(operations: Document) -> None:
    """All of them with their defaults, as they can be copied."""
    (example,) = operations.blocks("toml")
    values = {name: value for name, value in tomllib.loads(example).items() if name not in ("url", "namespace")}

    assert set(values) == set(NAMES)
    assert Settings().changed(**values) == Settings()


@pytest.mark.parametrize("option", sorted(shared_options()))
def test_the_manual_has_every_option_for_server_and_settings(option: str, operations: Document) -> None:
    """At the beginning of a cell of a table."""
    cells = [cell for section in operations.sections for row in section.rows for cell in row]

    assert any(option in options_in(cell) for cell in cells)


@pytest.mark.parametrize("path", sorted(EVERY_COMMAND))
def test_the_manual_has_every_command_with_its_options(path: str, operations: Document) -> None:
    """In a section that has it in its heading, or begins with it as another spelling: "Also `errors drain`"."""
    its = [
        section
        for section in operations.sections
        if path in section.heading.split(", ")
        or (section.text.lstrip().startswith("Also ") and path in code_spans(section.text.strip().splitlines()[0]))
    ]

    assert its or isinstance(EVERY_COMMAND[path], click.Group)
    assert options_of(EVERY_COMMAND[path]) <= {option for section in its for option in options_in(section.text)}


def test_the_manual_has_no_option_that_is_not_there(operations: Document) -> None:
    """What was renamed or removed must go there, too."""
    there = set().union(
        shared_options(), SPELLINGS, {"--help", "-h", "--version"}, *map(options_of, EVERY_COMMAND.values())
    )
    named = {option for span in operations.spans if span.startswith("-") for option in options_in(f"`{span}`")}

    assert "--lease" in named
    assert named <= there


NOT_OURS_TO_EXPLAIN = {"probe.asked"}
"""Names in the log that need no word: the text of somebody else's request follows."""


def logged() -> set[str]:
    """The names of all log lines, as they stand in the code: `server.` where the rest is put in."""
    calls = (
        node
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
    )
    texts = [
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("debug", "info", "warning", "error", "exception", "_say")
        and isinstance(call.args[0], ast.Constant)
    ]
    found = (re.match(r"[a-z_]+\.[a-z_]*", text) for text in texts if isinstance(text, str))
    return {name[0] for name in found if name}


def test_the_manual_has_every_line_of_the_log(operations: Document) -> None:
    """By its name; and none that is not there any more."""
    (section,) = [section for section in operations.sections if section.heading == "Logs"]
    explained = {name for row in section.rows for name in code_spans(row[0])}
    written = logged() - NOT_OURS_TO_EXPLAIN
    open_ended = tuple(name for name in written if name.endswith("."))

    assert {"server.lost", "source.failed"} <= written
    assert set(open_ended) == {"server.", "instance."}
    assert written - {*open_ended} <= explained
    assert {name for name in explained if not name.startswith(open_ended)} <= written


FIELDS = {"term": 3, "takeover_ms": 0, "what": "beat", "reason": "why", "from": "abc", "messages": 1}
TOTALS = {"generated", "handled"}
"""Of these the account has figures, no sentence."""


def test_every_event_is_in_the_manual_and_has_a_sentence(operations: Document) -> None:
    """For programs and for people."""
    code = "".join(path.read_text() for path in (ROOT / "src/soloist").glob("*/instance.py"))
    told = {"joined", *TOTALS, *re.findall(r'events\.tell\("(\w+)"', code)}
    (section,) = [section for section in operations.sections if section.heading == "Events"]

    assert {"unfit", "stuck", "left"} <= told
    assert {code_spans(row[0])[0] for row in section.rows if code_spans(row[0])} == told
    for event in told - TOTALS - {"joined"}:
        assert len(account.sentence(event, FIELDS).split()) > 2, event


def test_every_entry_of_the_common_log_is_in_the_guarantees_and_has_a_sentence() -> None:
    """As the scripts write them."""
    lua = "".join(path.read_text() for path in (ROOT / "src/soloist/store/lua").rglob("*.lua"))
    noted = re.findall(r"'event', (?:\w+ and )?'(\w+)'(?: or '(\w+)')?", lua)
    written = {word for words in noted for word in words if word}
    (section,) = [each for each in Document("docs/guarantees.md").sections if "common log" in each.heading]

    assert {"joined", "asked", "resumed", "left", "reclaimed"} <= written
    assert written <= set(code_spans(section.text))
    for event in written:
        entry = LogEntry("1-0", 0, event, {"messages": "2", "number": "4"})
        assert not narrative.sentence(entry).startswith(event), event


@pytest.fixture
def understood(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], list[click.Context]]:
    """Let click read a command line, and run nothing; the contexts of the commands that it came to."""
    reached: list[click.Context] = []
    monkeypatch.setattr(click.Command, "invoke", lambda _, context: reached.append(context))

    def read(words: list[str]) -> list[click.Context]:
        reached.clear()
        cli.main(arranged(words), prog_name="soloist", standalone_mode=False)
        for context in reached:
            for name in NAMES:
                if context.params.get(name) is not None:
                    check(name, context.params[name], name)
        return reached

    return read


PAGES = ["README.md", "docs/operations.md", "docs/library.md", "docs/prove.md", "docs/schedules.md"]
PAGES += [f"examples/{name}/README.md" for name in ("api_poller", "inbox", "outbox", "pipeline", "prove")]


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_documents_are_commands(name: str, understood: Callable[[list[str]], list[click.Context]]) -> None:
    """Each of them is read by the command line as it stands there, with its options and their values."""
    commands = Document(name).commands()

    assert commands, "there is no command in it"
    for words in commands:
        try:
            reached = understood(words)
        except click.ClickException as error:
            pytest.fail(f"soloist {' '.join(words)}: {error.format_message()}")
        assert reached or {"--help", "--version"} & set(words), words


def test_a_command_that_is_none_is_seen(understood: Callable[[list[str]], list[click.Context]]) -> None:
    """The test above can fail."""
    for wrong in ("frobnicate", "status --frob", "run --count none", "getErrors more"):
        with pytest.raises(click.ClickException):
            understood(wrong.split())
