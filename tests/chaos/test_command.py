"""`soloist chaos`: what it does, tells and refuses."""

from contextlib import closing
from pathlib import Path

import pytest

from soloist.chaos.network import why_not
from soloist.store.link import Link
from soloist.store.server import Server
from tests.chaos.breaking import broken, chaos, verdict_of
from tests.servers import KINDS, Kind, PrivateServer

SHORT = ("--messages", 2000, "--instances", 3, "--seed", 1)

FAMILIES = {
    "instances": "kill=2,freeze=1,terminate=1,start=1,lock=1,slow=1,die=1,get-errors=1",
    "connections": "cut=1,lost-reply=3,delay=1,half-open=1,trickle=1,heartbeat=1,will=1",
    "the server": "restart=1,stall=1,script-flush=1,client-kill=1,memory-full=1,read-only=1,misconf=1",
}


@pytest.mark.timeout(180)
@pytest.mark.one_server
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_faults_lose_and_double_nothing(tmp_path: Path, kind: Kind, family: str) -> None:
    """G1 to G4, G8, G9, with real processes."""
    told = verdict_of(chaos(kind, tmp_path, *SHORT, "--faults", FAMILIES[family], "--json"))

    assert told["verdict"] == "ok", told["wrong"]
    assert (told["lost"], told["duplicated"], told["unexpected"], told["overlapping_terms"]) == (0, 0, 0, 0)
    assert told["published"] == told["completed"] + told["failed"] == 2000
    assert sum(told["faults"].values()) >= 6
    assert told["seed"] == 1


@pytest.mark.timeout(180)
@pytest.mark.one_server
def test_a_server_that_forgets_loses_what_it_acknowledged_then_and_nothing_else(tmp_path: Path) -> None:
    """As docs/guarantees.md says: what was published in the lost time may be gone, its numbers are given again."""
    told = verdict_of(chaos("valkey", tmp_path, *SHORT, "--faults", "roll-back=2,kill=2", "--json"))

    assert told["verdict"] == "ok", told["wrong"]
    assert told["published"] == told["completed"] + told["failed"] == 2000


@pytest.mark.timeout(180)
@pytest.mark.one_server
def test_an_emptied_server_is_begun_anew(tmp_path: Path) -> None:
    told = verdict_of(chaos("valkey", tmp_path, *SHORT, "--faults", "empty=1,kill=2", "--json"))

    assert told["verdict"] == "ok", told["wrong"]
    assert told["published"] == 2000


@pytest.mark.timeout(180)
@pytest.mark.one_server
def test_a_moved_clock_of_the_server_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Forward every lease is over at once, back none ever would be."""
    told = verdict_of(chaos("valkey", tmp_path, *SHORT, "--faults", "clock=3,kill=1", "--json"))

    assert told["verdict"] == "ok", told["wrong"]


@pytest.mark.timeout(180)
@pytest.mark.one_server
def test_an_unplugged_instance_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Alone: then every second instance is on a host of its own, not every third."""
    if why := why_not():
        pytest.skip(why)
    told = verdict_of(chaos("valkey", tmp_path, *SHORT, "--instances", 6, "--faults", "unplug=2,kill=1", "--json"))

    assert told["verdict"] == "ok", told["wrong"]


@pytest.mark.timeout(180)
@pytest.mark.one_server
def test_a_users_own_app_is_broken_and_judged_alike(tmp_path: Path) -> None:
    """Its sources and handlers run for real, sync and async, one by one and in batches; what they hand on counts, too."""
    (tmp_path / "shop.py").write_text(SHOP)

    done = chaos("valkey", tmp_path, "shop:app", "--instances", 3, "--seed", 1, "--faults", "kill=3,freeze=1", "--json")
    told = verdict_of(done)

    assert told["verdict"] == "ok", told["wrong"]
    assert told["published"] == told["completed"] + told["failed"] > 100
    assert told["failed"] > 0


SHOP = """
from soloist import App, Message, Msg, Page, Reject, Source

app = App("shop")

@app.source(every=0.05)
def orders(source: Source[None, int]) -> Page[int]:
    last = source.cursor or 0
    return Page([Msg("order", str(number)) for number in range(last, last + 5)], cursor=last + 5)

@app.handler("order")
def order(message: Message) -> None:
    if int(message.body) % 20 == 0:
        raise Reject("no such order")
    message.publish("mail", message.body)

@app.handler("mail", concurrency=4)
async def mail(message: Message) -> None:
    message.publish("row", message.body)

@app.handler("row", batch=10, linger=0.05)
def rows(messages: list[Message]) -> None:
    pass
"""


@pytest.mark.one_server
def test_a_failing_run_says_what_is_wrong_and_how_to_have_it_again(tmp_path: Path) -> None:
    """Here completions are not written along as they should be, so that all of them seem to be lost."""
    sources = broken(tmp_path, ("chaos/app.py", "if int(message.body", "if message.attempt > 99 and int(message.body"))

    done = chaos("valkey", tmp_path, *SHORT, "--faults", "kill=1", sources=sources)

    assert done.returncode == 1
    assert "verdict: NOT OK" in done.stdout
    assert "again: soloist chaos --messages 2000 --instances 3 --seed 1 --faults kill=1" in done.stdout


@pytest.mark.one_server
@pytest.mark.timeout(180)
def test_a_named_server_is_not_harmed_and_nothing_is_left_on_it(tmp_path: Path, server: PrivateServer) -> None:
    """Only instances and connections are, in a namespace of their own."""
    with closing(Link(Server(server.url), timeout=5)) as link:
        began, keys = link.command("INFO", "server"), link.command("DBSIZE")

        told = verdict_of(
            chaos("valkey", tmp_path, *SHORT, "--url", server.url, "--faults", "kill,cut", "--seconds", 8, "--json")
        )

        assert told["verdict"] == "ok", told["wrong"]
        assert set(told["faults"]) <= {"kill", "cut"}
        assert run_id(link.command("INFO", "server")) == run_id(began)
        assert link.command("DBSIZE") == keys


@pytest.mark.one_server
def test_faults_of_a_named_server_are_refused(tmp_path: Path, server: PrivateServer) -> None:
    done = chaos("valkey", tmp_path, "--url", server.url, "--faults", "restart=1")

    assert done.returncode == 2
    assert "'restart' cannot be here: the server is not one that chaos has started itself" in done.stderr


def run_id(about: bytes) -> bytes:
    return next(line for line in about.splitlines() if line.startswith(b"run_id:"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--faults", "kil=2"), "there is no fault 'kil'. Did you mean kill?"),
        (("--faults", "kill=0"), "'kill=0' is not allowed; write kill=N, N from 1 to 10000."),
        (("--faults", "kill=1,freeze"), "say how many of each fault, or of none"),
        (("--faults", "kill=1", "--seconds", 10), "leave it out"),
        (("--instances", 1), "a whole number, 2 to 100"),
        (("nowhere:app",), "No module named 'nowhere'"),
        (("--url", "redis://localhost:1/0", "--persistence", "no"), "--persistence is that of the private server"),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path: Path, words: tuple[str | int, ...], says: str) -> None:
    done = chaos("valkey", tmp_path, *words)

    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
