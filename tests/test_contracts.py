"""What must agree although it stands in different places: imports, scripts and their callers."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import soloist
from soloist.commit import COMMANDS, Commit
from soloist.store import presence
from soloist.store.script import Script as RealScript
from tests.lua_source import TABLE, Script, libraries, own_lines, scripts, uncommented
from tests.script_calls import CALLS, KEYS, SETTINGS, RecordingLink, key_named

PACKAGE = Path(soloist.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS, LIBRARIES = scripts(), libraries()


COMMAND = re.compile(r"redis\.p?call\('(\w+)'")
QUOTED = re.compile(r"'(\w+)'")
LONGEST_SCRIPT = 80
WITHOUT_KEYS = {"TIME", "PUBSUB", "PUBLISH"}
"""TIME is the first thing that a script calls; without PUBSUB there is no last will, which is allowed; send.lua asks for
PUBLISH by itself, each time: only Celery's broadcasts need it."""


def test_there_is_something_to_compare() -> None:
    """A folder that was moved must not make all of this pass."""
    assert len(SOURCES) > 30
    assert {"join", "beat", "publish", "next", "reclaim", "leave", "drain", "confirm"} <= set(SCRIPTS)
    assert "kinds" in LIBRARIES


# Imports go one way.

MAY_IMPORT: dict[str, set[str]] = {
    "__init__": {"app", "commit", "errors", "message", "source"},
    "errors": set(),
    "settings": {"errors"},
    "events": set(),
    "embedded": {"errors"},
    "store": {"errors", "settings"},
    "commit": {"errors", "store"},
    "message": {"commit", "errors", "store"},
    "source": set(),
    "schedules": {"errors", "store"},
    "producer": {"errors", "runtime", "store"},
    "schedule_book": {"errors", "fitting", "message", "producer", "runtime", "schedules", "store", "target"},
    "fitting": {"errors"},
    "declared": {"errors", "fitting", "source"},
    "around": {"declared", "errors", "fitting"},
    # `app.run` and `app.start` reach up to what runs an App; all of that is imported when they are called.
    "app": {
        "around",
        "declared",
        "errors",
        "fitting",
        "message",
        "publishing",
        "running",
        "schedule_book",
        "schedules",
        "settings",
        "store",
    },
    "demo": {"app", "errors", "message"},
    "error_filter": {"durations", "errors", "store"},
    "error_store": {"error_filter", "message", "store"},
    "archive": {"errors", "message", "store"},
    "inspector": {"store"},
    "durations": set(),
    "narrative": {"durations", "store"},
    "health": {"inspector", "settings", "store"},
    "runtime": {
        "app",
        "commit",
        "declared",
        "durations",
        "errors",
        "events",
        "fitting",
        "message",
        "schedules",
        "settings",
        "source",
        "store",
    },
}
"""Part -> the other parts that it may know. Parts that are not here (cli, …) are on top: they may know all of these,
and none of these may know them."""


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever it does so: inside functions and for types alone, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_imported(path: Path) -> set[str]:
    parts = {part_of(source) for source in SOURCES}
    inside = [module.split(".") for module in imported(path) if module.split(".")[0] == "soloist"]
    return {module[1] if module[1:] and module[1] in parts else "__init__" for module in inside}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    """From cli to inspector, error_store and runtime, from there to store; the runtime never uses the observation API."""
    part = part_of(path)
    if part in MAY_IMPORT:
        assert parts_imported(path) - {part} <= MAY_IMPORT[part]


def test_the_rules_about_imports_speak_of_parts_that_exist() -> None:
    """And of ways that can be ruled out: somebody does use each part."""
    parts = {part_of(path) for path in SOURCES}
    used = set().union(*(parts_imported(path) for path in SOURCES))

    assert set(MAY_IMPORT) <= parts
    assert {"store", "runtime", "inspector", "error_store", "embedded", "cli", "settings"} <= used


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_store_speaks_redis(path: Path) -> None:
    """One border: nobody else imports the client."""
    clients = {"redis", "hiredis", "valkey"} & {module.split(".")[0] for module in imported(path)}

    assert not clients or part_of(path) == "store"


def test_help_is_quick() -> None:
    """Building the command line imports neither the client nor anything that talks; it costs 150 ms and more."""
    code = "import soloist.cli.main, sys, json; print(json.dumps(sorted(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    modules = set(json.loads(said.stdout))

    assert "soloist.cli.main" in modules
    assert not {"redis", "hiredis", "asyncio", "ssl", "soloist.store.link", "soloist.runtime"} & modules


# Scripts: the header is the contract.


@pytest.fixture(params=sorted(SCRIPTS))
def script(request: pytest.FixtureRequest) -> Script:
    return Script(SCRIPTS[request.param])


@pytest.fixture(params=sorted(SCRIPTS))
def script_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_script_begins_with_its_shebang(script: Script) -> None:
    """On the first line, or the server does not see its flags."""
    assert re.fullmatch(r"#!lua( flags=[a-z,-]+)?", script.shebang)


@pytest.mark.parametrize("name", ["join", "beat", "next", "reclaim", "leave", "drain", "confirm"])
def test_scripts_that_must_work_when_memory_is_full_say_so(name: str) -> None:
    """Handling goes on, and makes room."""
    assert Script(SCRIPTS[name]).shebang == "#!lua flags=allow-oom"


def test_publishing_is_refused_whole_when_memory_is_full() -> None:
    """Refused before it begins, not in its middle."""
    assert Script(SCRIPTS["publish"]).shebang == "#!lua"


def test_a_script_that_only_reads_says_so() -> None:
    """Then the server sees to it."""
    assert Script(SCRIPTS["snapshot"]).shebang == "#!lua flags=no-writes"


def test_a_header_has_purpose_keys_arguments_and_replies(script: Script) -> None:
    """In this order, and no line that would be overlooked."""
    assert script.header.purpose
    assert script.header.titles == ["KEYS", "ARGV", "REPLY"]
    assert script.header.strange == []
    assert script.header.replies


def test_a_header_says_the_type_of_every_key_and_argument(script: Script) -> None:
    """What a position holds, not only how it is called."""
    for entry in script.header.entries["KEYS"]:
        assert entry.startswith("...") or entry.split()[1] in ("hash", "zset", "set", "list", "stream")
    for entry in script.header.entries["ARGV"]:
        assert entry.startswith("...") or entry.split()[1] in ("text", "int")


def test_calls_are_laid_out_by_what_these_tests_read(script_name: str) -> None:
    """The same names in the same order as the code reads them from the header."""
    header, real = Script(SCRIPTS[script_name]).header, RealScript(script_name)

    assert (real.keys, real.args) == (header.names("KEYS"), header.names("ARGV"))
    assert real.replies == [reply[0] for reply in header.replies]


LOCAL_NAMES = {
    ("KEYS", "term"): "term_key",  # `term` is the table that is made of it
    ("ARGV", "term"): "named",
    ("ARGV", "will"): "will_number",
}
"""Where the local in the body is called otherwise than the entry in the header."""


@pytest.mark.parametrize("table", ["KEYS", "ARGV"])
def test_each_position_is_bound_to_a_local_of_its_name(script: Script, table: str) -> None:
    """From the first to the last, each once: an entry put into the header alone, or two that changed places, are seen."""
    bound = {slot.position: slot.name for slot in script.slots if slot.table == table}
    names = script.header.names(table)

    assert [slot.position for slot in script.slots if slot.table == table] == list(range(1, len(names) + 1))
    for position, name in enumerate(names, start=1):
        assert bound[position] in (name, LOCAL_NAMES.get((table, name)))


def test_below_the_slots_nothing_is_taken_by_position(script: Script) -> None:
    """One named local per slot, in forms that can be read; then no KEYS and no ARGV."""
    assert script.unclear == []
    assert not TABLE.findall(script.body)


def test_the_tail_of_keys_begins_behind_the_named_ones(script: Script) -> None:
    """Pending, again, suspect and bell of each kind: the body says where they begin."""
    count = len(script.header.names("KEYS"))

    if not script.header.has_tail("KEYS"):
        assert script.key_tail_numbers == set()
    elif count:
        assert script.key_tail_numbers == {count + 1}
    else:
        assert script.block == ["local keys = KEYS"]


def test_the_tail_of_arguments_begins_behind_the_named_ones(script: Script) -> None:
    """As the number of the first, or as that of the last before it."""
    count = len(script.header.names("ARGV"))

    assert bool(script.argument_tail_numbers) == script.header.has_tail("ARGV")
    assert script.argument_tail_numbers <= {count, count + 1}


def test_a_script_answers_in_the_words_of_its_header(script: Script) -> None:
    """Every word that is returned stands there, and every word that stands there is returned."""
    assert script.answers
    assert all(re.fullmatch(r"'[A-Z]+'", answer[0]) for answer in script.answers)
    assert {answer[0].strip("'") for answer in script.answers} == {reply[0] for reply in script.header.replies}


def test_an_answer_has_as_many_values_as_the_header_says(script: Script) -> None:
    """Where their number is fixed on both sides."""
    for answer in script.answers:
        said = [reply for reply in script.header.replies if reply[0] == answer[0].strip("'")]
        is_open = any("..." in reply for reply in said) or answer[-1].startswith(("...", "unpack("))
        assert is_open or len(answer) in {len(reply) for reply in said}


def test_only_the_lists_of_kinds_are_taken_by_position_in_a_library() -> None:
    """What is included has no slots of its own."""
    by_position = {name for name, text in LIBRARIES.items() if TABLE.search(uncommented(text))}

    assert by_position == {"kinds"}


@pytest.mark.parametrize("name", [*sorted(SCRIPTS), *sorted(LIBRARIES)])
def test_a_script_is_a_small_file(name: str) -> None:
    """The header and the list of what is included do not count: they are to be as long as they need to be."""
    assert 0 < own_lines(SCRIPTS.get(name) or LIBRARIES[name]) <= LONGEST_SCRIPT


def test_includes_are_there_and_used_once(script_name: str) -> None:
    """All are put in their place: what is left would be a comment to the server. A local made twice hides the first."""
    includes = Script(SCRIPTS[script_name]).includes

    assert set(includes) <= set(LIBRARIES)
    assert len(includes) == len(set(includes))
    assert "-- include" not in RealScript(script_name).text


def test_no_library_is_left_over() -> None:
    """What nobody includes is dead."""
    assert {name for text in SCRIPTS.values() for name in Script(text).includes} == set(LIBRARIES)


def test_join_asks_for_every_command_that_a_script_uses() -> None:
    """One that the ACL refuses in mid-script would leave what was written before it."""
    used = {name for text in (*SCRIPTS.values(), *LIBRARIES.values()) for name in COMMAND.findall(text)}
    asked = set(QUOTED.findall(LIBRARIES["permissions"].split("NEEDED = {")[1].split("}")[0]))

    assert len(used) > 20
    assert asked == used - WITHOUT_KEYS


def test_what_may_be_committed_is_said_twice_and_the_same() -> None:
    """By the script, which foresees it, and by the object that users call; each has its way to be foreseen."""
    listed = LIBRARIES["commands"].split("local COMMANDS = {")[1].split("}\nlocal")[0]
    foreseen = LIBRARIES["foresight"].split("local FORESEE = {")[1].split("\n}\n")[0]

    assert sorted(re.findall(r"(\w+) = \{ '", listed)) == sorted(COMMANDS)
    assert sorted(re.findall(r"(?:^  |, )(\w+) = (?:function|changes|is_gone)", foreseen, re.MULTILINE)) == sorted(
        COMMANDS
    )
    methods = {name for name in vars(Commit) if not name.startswith("_")} - {"writes", "followups"}
    assert methods == {"delete" if command == "del" else command for command in COMMANDS}


def test_no_key_of_ours_expires() -> None:
    """The policies volatile-* evict keys with an expiry: they are let through because ours have none (fitness.py).

    What users write along with messages is their own: they may let it expire.
    """
    sources = [path.read_text() for path in SOURCES if part_of(path) == "store"]
    quoted = {
        word
        for text in (*SCRIPTS.values(), *LIBRARIES.values(), *sources)
        for word in re.findall(r"['\"](\w+)['\"]", text)
    }

    assert {"HSET", "EVALSHA"} <= quoted
    assert not {word for word in quoted if re.fullmatch(r".*EXPIRE(AT)?|P?SETEX|H?GETEX|P?EX|P?EXAT|PXAT|PX", word)}


# Scripts and their callers.


def test_every_script_has_its_call_here() -> None:
    """A new script must be compared with its wrapper as well."""
    assert set(CALLS) == set(SCRIPTS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_wrapper_sends_what_the_header_says_in_its_order(name: str) -> None:
    """Each key and each value at the position of its name, all of them, and the tails behind them."""
    call, header, link = CALLS[name], Script(SCRIPTS[name]).header, RecordingLink(CALLS[name].answer)

    call.act(link)

    ((sha, keys, args),) = link.sent
    named = len(header.names("KEYS")), len(header.names("ARGV"))
    assert sha == RealScript(name).sha
    assert keys[: named[0]] == [call.keys.get(each) or key_named(each) for each in header.names("KEYS")]
    assert keys[named[0] :] == call.more_keys
    assert dict(zip(header.names("ARGV"), args[: named[1]], strict=True)) == call.args
    assert args[named[1] :] == call.more_args


def test_a_drainer_is_present_among_the_drainers() -> None:
    """The one key of join that depends on who joins, and the role that beat is told."""
    eve = presence.Who("eve", 0, "", "host", 99, (), drains=True)
    joining, beating = RecordingLink(CALLS["join"].answer), RecordingLink(CALLS["beat"].answer)

    presence.join(joining, KEYS, eve, SETTINGS)
    presence.beat(beating, KEYS, eve, SETTINGS, term=0, may_generate=False, busy=False, will=0, tag="tag")

    assert joining.sent[0][1][RealScript("join").keys.index("presence")] == KEYS.drainers
    assert beating.sent[0][2][:2] == ["eve", "drainer"]


def test_a_call_that_does_not_fit_its_header_fails_at_once() -> None:
    """Too few, too many, or another name: nothing is sent."""
    keys = {name: name for name in ("drainers", "wills", "drained", "totals")}
    script, link = RealScript("confirm"), RecordingLink([])

    for wrong_keys, wrong_args in [
        ({}, {"id": "ann"}),
        (keys, {}),
        ({**keys, "log": "log"}, {"id": "ann"}),
        ({**{name: name for name in ("drainers", "wills", "drained")}, "log": "log"}, {"id": "ann"}),
        (keys, {"ident": "ann"}),
    ]:
        with pytest.raises((TypeError, KeyError)):
            script.call(link, wrong_keys, wrong_args)
    assert link.sent == []


ONLY_BY_A_DEFECT = {"next": {"KINDS"}}
"""Words that a caller need not know, since only a mistake of ours can bring them: Defect is the right answer."""


def words_known() -> dict[str, set[str]]:
    """The words that each wrapper understands, by the script whose answer it reads: `word(reply, "join", "OK", …)`."""
    known: dict[str, set[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "word":
                name, *words = [ast.literal_eval(argument) for argument in node.args[1:]]
                known.setdefault(name, set()).update(words)
    return known


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_wrapper_understands_the_words_of_its_script(name: str) -> None:
    """All of them, and no others. SUPERSEDED is understood for all in one place."""
    answered = {reply[0] for reply in Script(SCRIPTS[name]).header.replies}

    assert words_known()[name] == answered - {"SUPERSEDED"} - ONLY_BY_A_DEFECT.get(name, set())
