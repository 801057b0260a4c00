"""settings.py: every default once, where values come from, and what a bad one is told."""

import os
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from soloist import App
from soloist import settings as all_settings
from soloist.cli.connection import CONNECTION, flags, option_name
from soloist.errors import UsageError
from soloist.settings import (
    AUTO,
    NAMES,
    Given,
    Settings,
    about,
    allowed,
    check,
    from_code,
    from_environment,
    from_file,
    gather,
)
from soloist.target import resolve

SERVER = {"url": "redis://example"}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no soloist.toml."""
    for variable in [name for name in os.environ if name.startswith(all_settings.ENVIRONMENT_PREFIX)]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)


def settings_of(app: App | None = None, /, **given: Any) -> Settings:
    """What an instance would get from flags, environment, file and code."""
    nothing = dict.fromkeys([*map(option_name, CONNECTION), *NAMES])
    return resolve(flags({**nothing, **SERVER, **given}), app).settings


def flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    return f"SOLOIST_{name.upper()}"


# Defaults.


def test_defaults_are_those_of_the_interface() -> None:
    """The table of settings, as users read it."""
    assert Settings() == Settings(
        lease=2.0,
        claim_lease=10.0,
        heartbeat=0.15,
        batch=AUTO,
        max_pending=1_000_000,
        max_attempts=3,
        max_body=16 * 1024 * 1024,
        stop_timeout=20.0,
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_default_that_is_shown_is_the_default_that_counts(name: str) -> None:
    """A default stands in the help as text and in the code as a value: they are one."""
    shown = about(name)["shown"].removesuffix(" s")

    assert check(name, shown, "shown") == getattr(Settings(), name)


@pytest.mark.parametrize("name", NAMES)
def test_a_default_can_be_said_again(name: str) -> None:
    """Each default lies in its own range."""
    assert Settings().changed(**{name: getattr(Settings(), name)}) == Settings()


def test_settings_do_not_change() -> None:
    """An actor that has read a setting may rely on it."""
    with pytest.raises(FrozenInstanceError):
        Settings().lease = 5.0  # type: ignore[misc]


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_says_what_it_means(name: str) -> None:
    """The help is made of it."""
    assert about(name)["says"].endswith((".", ")"))


# Strength: code < file < environment < flag.


def test_without_anything_the_code_decides() -> None:
    """No file, no variable, no flag: the defaults."""
    assert settings_of() == Settings()


def test_a_file_is_stronger_than_the_code() -> None:
    """soloist.toml in the current folder is read without being named."""
    Path("soloist.toml").write_text("lease = 3\n")

    assert settings_of() == Settings(lease=3.0)


def test_the_environment_is_stronger_than_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the variable does not name still comes from the file."""
    Path("soloist.toml").write_text("lease = 3\nmax_attempts = 5\n")
    monkeypatch.setenv("SOLOIST_LEASE", "4")

    assert settings_of() == Settings(lease=4.0, max_attempts=5)


def test_a_flag_is_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said last and nearest counts."""
    Path("soloist.toml").write_text("lease = 3\n")
    monkeypatch.setenv("SOLOIST_LEASE", "4")

    assert settings_of(lease="5") == Settings(lease=5.0)


def test_a_file_that_is_named_stands_in_for_the_one_in_the_folder(tmp_path: Path) -> None:
    """They are not mixed."""
    Path("soloist.toml").write_text("lease = 3\nmax_attempts = 5\n")
    named = tmp_path / "other.toml"
    named.write_text("lease = 6\n")

    assert settings_of(config=str(named)) == Settings(lease=6.0)


def test_url_and_namespace_come_from_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """File and environment name the server, too."""
    Path("soloist.toml").write_text('url = "redis://file"\nnamespace = "file"\n')
    monkeypatch.setenv("SOLOIST_NAMESPACE", "environment")

    assert gather() == {"url": "redis://file", "namespace": "environment"}


def test_variables_of_others_are_left_alone() -> None:
    """Only names that are settings count: SOLOIST_HOME moves the embedded server's state and is none."""
    assert from_environment({"LEASE": "9", "SOLOIST_HOME": "/tmp", "soloist_lease": "9"}) == {}  # noqa: S108 - only a word


@pytest.mark.parametrize("variable", ["SOLOIST_LEESE", "SOLOIST_CLAIMLEASE", "SOLOIST_NAME_SPACE", "SOLOIST_URLS"])
def test_a_variable_that_is_nearly_called_like_a_setting_is_refused(variable: str) -> None:
    """A misspelt setting would silently do nothing."""
    with pytest.raises(UsageError, match=rf"environment variable {variable} is not known; is SOLOIST_\w+ meant\?"):
        from_environment({variable: "3"})


@pytest.mark.parametrize(
    "variable",
    ["SOLOIST_PORT", "SOLOIST_SERVICE_HOST", "SOLOIST_PORT_6379_TCP_ADDR", "SOLOIST_SERVER", "SOLOIST_EMBEDDED_LINGER"],
)
def test_what_kubernetes_sets_for_a_service_of_our_name_does_no_harm(variable: str) -> None:
    """It is not nearly called like a setting."""
    assert from_environment({variable: "tcp://10.0.0.1:6379"}) == {}


# A bad value names where it came from and what is allowed.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["file", "environment", "flag"])
def test_a_bad_value_names_its_place_and_the_range(name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody must be able to find it, and to mend it."""
    flags = {}
    if place == "file":
        Path("soloist.toml").write_text(f'# ours\n\n{name} = "nonsense"\n')
        where = f"soloist.toml, line 3: {name}"
    elif place == "environment":
        monkeypatch.setenv(variable_of(name), "nonsense")
        where = variable_of(name)
    else:
        flags = {name: "nonsense"}
        where = flag_of(name)

    with pytest.raises(UsageError) as refused:
        settings_of(**flags)

    assert where in str(refused.value)
    assert "'nonsense'" in str(refused.value)
    assert allowed(name) in str(refused.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_out_of_range_names_the_range(name: str) -> None:
    """Just below the least and just above the most."""
    least, most = about(name)["least"], about(name)["most"]

    for value in (least - 1, most + 1):
        with pytest.raises(UsageError, match=r"here: .* is out of range; allowed is") as refused:
            check(name, value, "here")
        assert allowed(name) in str(refused.value)


@pytest.mark.parametrize("name", NAMES)
def test_the_ends_of_a_range_belong_to_it(name: str) -> None:
    """Allowed is from the least to the most."""
    least, most = about(name)["least"], about(name)["most"]

    assert check(name, least, "here") == least
    assert check(name, most, "here") == most


@pytest.mark.parametrize("name", NAMES)
def test_a_range_is_written_for_people(name: str) -> None:
    """In figures that one can type in again, not as 9.0072e+15."""
    assert "e+" not in allowed(name)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "", "2s", None, [2]])
def test_seconds_are_a_number_in_the_range(value: Any) -> None:
    """What float() would take, but nobody can mean, is refused like any other nonsense."""
    with pytest.raises(UsageError, match="here"):
        check("lease", value, "here")


@pytest.mark.parametrize("value", ["1.5", 1.5, "1e6", "", None, float("inf"), float("nan")])
def test_a_count_is_a_whole_number(value: Any) -> None:
    """Nothing is rounded in silence."""
    with pytest.raises(UsageError, match="here"):
        check("max_pending", value, "here")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["true", "false"])
def test_yes_and_no_are_no_numbers(name: str, value: str) -> None:
    """`batch = false` would otherwise be auto, `lease = true` one second."""
    Path("soloist.toml").write_text(f"{name} = {value}\n")

    with pytest.raises(UsageError, match=rf"soloist\.toml, line 1: {name}"):
        gather()


def test_the_first_bad_value_is_told_even_if_a_stronger_place_has_a_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken file is mended, not hidden."""
    Path("soloist.toml").write_text("lease = 0\n")
    monkeypatch.setenv("SOLOIST_LEASE", "4")

    with pytest.raises(UsageError, match=r"soloist\.toml, line 1: lease"):
        gather()


# The file.


def test_an_unknown_key_in_the_file_is_refused_with_the_known_ones() -> None:
    """A misspelt setting would silently do nothing."""
    Path("soloist.toml").write_text("leese = 3\n")

    with pytest.raises(UsageError, match=r"soloist\.toml, line 1: unknown setting 'leese'") as refused:
        gather()

    assert all(name in str(refused.value) for name in (*NAMES, "url", "namespace"))


def test_a_file_that_is_named_must_be_there() -> None:
    """The one in the current folder may be missing, one that was named may not."""
    assert gather() == {}
    with pytest.raises(UsageError, match=r"missing\.toml: cannot be read: No such file"):
        gather("missing.toml")


@pytest.mark.parametrize("content", [b"\nlease = ", b"\nlease 3", b"\nname = '\xff'", b"\r\n= 3", b"\nlease = 2 3\n"])
def test_a_file_that_is_no_toml_is_named_with_the_line(content: bytes, tmp_path: Path) -> None:
    """And with what the parser says."""
    path = tmp_path / "broken.toml"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=r"broken\.toml(: .*\(at line 2, |, line 2: )"):
        from_file(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("lease = 2\n[leese]\n", 2),
        ("lease = 2\n[[leese]]\n", 2),
        ("leese.more = 2\n", 1),
        ('lease = 2\n  "leese"=3', 2),
        ("# leese = 3\n\tleese\t= 3", 2),
    ],
)
def test_the_line_of_a_key_is_found_however_it_is_written(content: str, line: int) -> None:
    """A table, a dotted key, quotes; a comment does not count."""
    Path("soloist.toml").write_text(content)

    with pytest.raises(UsageError, match=rf"soloist\.toml, line {line}: unknown setting 'leese'"):
        gather()


@pytest.mark.parametrize("name", ["url", "namespace"])
def test_url_and_namespace_are_text(name: str) -> None:
    """A number is not a name."""
    Path("soloist.toml").write_text(f"{name} = 7\n")

    with pytest.raises(UsageError, match=rf"soloist\.toml, line 1: {name}: 7 must be text"):
        gather()


# Settings that depend on each other.


def test_the_lease_is_at_least_four_heartbeats() -> None:
    """Fewer, and a beat or two that come late would cost the term."""
    assert Settings(lease=0.6, heartbeat=0.15).lease == 0.6
    with pytest.raises(UsageError, match=r"lease \(0\.59 s\) .* 4 times heartbeat \(0\.15 s\).*--lease.*--heartbeat"):
        Settings(lease=0.59, heartbeat=0.15)


def test_the_claim_lease_is_not_below_the_lease() -> None:
    """Losing presence vacates the term, so presence must not end first."""
    assert Settings(lease=2, claim_lease=2).claim_lease == 2
    with pytest.raises(UsageError, match=r"claim_lease \(1\.9 s\) .* lease \(2 s\).*--claim-lease"):
        Settings(lease=2, claim_lease=1.9)


def test_dependent_settings_are_compared_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """One from the file, one from the environment: their sum counts, and both places are named."""
    Path("soloist.toml").write_text("heartbeat = 1\n")
    monkeypatch.setenv("SOLOIST_LEASE", "3")

    with pytest.raises(UsageError, match="must be at least 4 times heartbeat") as refused:
        settings_of()
    assert "environment variable SOLOIST_LEASE" in str(refused.value)
    assert "soloist.toml, line 1: heartbeat" in str(refused.value)
    with pytest.raises(UsageError, match=r"From environment variable SOLOIST_LEASE; --claim-lease"):
        settings_of(claim_lease="1", heartbeat="0.1")


def test_settings_are_checked_when_they_are_changed() -> None:
    """In code, too: range and dependence."""
    assert Settings().changed(lease="4", max_body="1 KB") == Settings(lease=4.0, max_body=1024)
    with pytest.raises(UsageError, match="setting max_attempts: 1 is out of range"):
        Settings().changed(max_attempts=1)
    with pytest.raises(UsageError, match="must not be below lease"):
        Settings().changed(lease=11)


# Batch and sizes.


@pytest.mark.parametrize(("value", "size"), [("auto", AUTO), ("1", 1), (1, 1), (1000, 1000), ("1000", 1000)])
def test_a_batch_is_auto_or_a_number(value: Any, size: int) -> None:
    """1 is the smallest window, 1000 the largest."""
    assert check("batch", value, "here") == size


@pytest.mark.parametrize("value", ["1001", "-1", "1.5", "automatic", "", None])
def test_any_other_batch_is_refused(value: Any) -> None:
    """With both ways of saying it."""
    with pytest.raises(UsageError, match="auto, or 1 to 1000"):
        check("batch", value, "here")


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1, 1),
        ("1000", 1000),
        ("1KB", 1024),
        ("64 kb", 65_536),
        ("0.5KB", 512),
        ("16MB", 16 * 1024**2),
        (" 16 MB ", 16 * 1024**2),
        ("0.25GB", 256 * 1024**2),
    ],
)
def test_a_size_is_bytes_or_has_a_unit(value: Any, size: int) -> None:
    """KB, MB and GB, however they are written."""
    assert check("max_body", value, "here") == size


@pytest.mark.parametrize(
    "value", ["0", "0KB", "-1MB", "257MB", "1GB", "1.5", "MB", "16 TB", "nanMB", "infMB", "1e400MB"]
)
def test_any_other_size_is_refused(value: str) -> None:
    """Whatever Python makes of it."""
    with pytest.raises(UsageError, match=r"here: .* 1 to 256 MB"):
        check("max_body", value, "here")


# What follows from settings.


def test_times_are_whole_milliseconds_on_the_wire() -> None:
    """Rounded, not cut: 1.001 s are 1001 ms, though 1.001 * 1000 is a little less."""
    settings = Settings(lease=4.007, claim_lease=4.012, heartbeat=1.001)

    assert (settings.lease_ms, settings.claim_lease_ms, settings.heartbeat_ms) == (4007, 4012, 1001)


@pytest.mark.parametrize("lease", [0.2, 2, 3600])
def test_a_call_that_goes_unanswered_leaves_time_for_another(lease: float) -> None:
    """Two attempts fit before a generator must stop by itself, a tenth of the lease before its end."""
    settings = Settings(lease=lease, claim_lease=3600, heartbeat=0.05)

    assert 0 < 2 * settings.call_timeout < lease * 0.9


def test_every_field_is_a_setting() -> None:
    """Nothing is a field without default, range and meaning."""
    assert tuple(each.name for each in fields(Settings)) == NAMES
    assert all(set(each.metadata) >= {"parse", "least", "most", "says", "shown"} for each in fields(Settings))


# In code.


def test_every_setting_can_be_written_in_code() -> None:
    """The type checker knows the same names as the settings themselves."""
    assert set(Given.__annotations__) == set(NAMES)


def test_what_code_says_is_weaker_than_file_environment_and_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs a program can change what whoever wrote it has thought right."""
    app = App("orders", lease=3, claim_lease=31, stop_timeout=4, max_attempts=5)
    Path("soloist.toml").write_text("lease = 6\nclaim_lease = 32\nstop_timeout = 7\n")
    monkeypatch.setenv("SOLOIST_CLAIM_LEASE", "33")
    monkeypatch.setenv("SOLOIST_STOP_TIMEOUT", "8")

    settings = settings_of(app, stop_timeout="9")

    assert (settings.max_attempts, settings.lease, settings.claim_lease, settings.stop_timeout) == (5, 6, 33, 9)


def test_none_in_code_says_nothing() -> None:
    """So that a program can hand on what it was not given."""
    assert App("orders", lease=None, url=None, timeout=None).settings == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lease": "soon"}, "App 'orders' .test_settings.py, line .*: lease: 'soon' is not allowed; write 0.2 to 3600"),
        ({"concurrency": 0}, "concurrency: 0 is out of range; allowed is 1 to 10000"),
        ({"max_attempts": True}, "max_attempts: True is not allowed"),
        ({"leese": 1}, "there is no setting 'leese'. Did you mean lease"),
        ({"url": 7}, "url: 7 must be text"),
    ],
)
def test_a_setting_that_is_wrong_in_code_is_refused_where_it_stands(given: dict[str, Any], says: str) -> None:
    """When the App is made, not when it is run."""
    with pytest.raises(UsageError, match=says):
        App("orders", **given)


def test_places_in_code_are_named_when_settings_do_not_fit_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two may stand elsewhere."""
    app = App("orders", lease=0.4)
    monkeypatch.setenv("SOLOIST_HEARTBEAT", "0.2")

    with pytest.raises(
        UsageError,
        match=r"From App 'orders' \(test_settings.py, line .*\): lease; .*SOLOIST_HEARTBEAT|From .*SOLOIST_HE",
    ):
        settings_of(app)


def test_what_code_says_is_checked_like_everything_else() -> None:
    """Sizes and words as in the file."""
    assert from_code({"max_body": "1KB", "batch": "auto", "timeout": "none"}, "code") == {
        "max_body": 1024,
        "batch": AUTO,
        "timeout": 0.0,
    }
