"""prove_handler: what is not safe to repeat is found and named, and what is safe is not."""

import linecache
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import Request, urlopen

import pytest

from soloist import App, Message, Reject, Retry
from soloist.prove import Finding, Verdict, prove_handler
from soloist.prove.crash_points import When
from soloist.prove.life import CLOSING
from tests.prove.shop import Shop

LATER = 0.3
"""Seconds after which something happens that nobody waits for: long after a process that is to be killed at once."""

ORDER = {"number": 42, "cents": 100}


@pytest.fixture
def app() -> App:
    return App("shop")


def proved(app: App, shop: Shop, kind: str = "default") -> Verdict:
    return prove_handler(app, kind, ORDER, world=shop.world, reset=shop.reset)


def line_of(finding: Finding) -> str:
    place = finding.point.place
    return linecache.getline(place.file, place.line).strip()


def test_the_double_in_a_naive_handler_is_found(app: App, shop: Shop) -> None:
    """An effect without a key: killed after it and before the completion, it happens again."""

    @app.handler
    def pay(message: Message) -> None:
        order = message.json()
        shop.charge(order["cents"])
        with shop.transaction() as db:
            db.execute("INSERT INTO orders VALUES (?, ?)", (order["number"], order["cents"]))

    verdict = proved(app, shop)

    assert not verdict.is_safe
    found = {(line_of(each), each.point.place.when): each.differences for each in verdict.findings}
    assert found[('shop.charge(order["cents"])', When.AFTER)] == ("charges 2, want 1",)
    assert verdict.findings[-1].differences == ("charges 2, want 1", "orders 2, want 1")
    assert ("order = message.json()", When.AFTER) not in found
    assert verdict.summary().startswith("not safe to repeat: the handler pay (test_handlers.py, line ")


def test_the_job_of_a_schedule_is_given_a_tick(shop: Shop) -> None:
    """As the generator would: jobs look at it."""
    app = App("jobs")

    @app.schedule("0 3 * * *")
    def nightly(message: Message) -> None:
        assert message.scheduled_for is not None
        shop.note("report")

    verdict = prove_handler(app, "schedule:nightly", "", world=shop.world, reset=shop.reset)

    assert "completed" in verdict.fate


def test_a_key_that_is_remembered_after_the_effect_is_found(app: App, shop: Shop) -> None:
    """It is looked for, but effect and key are in two transactions: between them the first is repeated."""

    @app.handler
    def pay(message: Message) -> None:
        order = message.json()
        with shop.transaction() as db:
            if db.execute("SELECT 1 FROM inbox WHERE key = ?", (message.key,)).fetchone():
                return
        with shop.transaction() as db:
            db.execute("INSERT INTO orders VALUES (?, ?)", (order["number"], order["cents"]))
        with shop.transaction() as db:
            db.execute("INSERT INTO inbox VALUES (?)", (message.key,))

    verdict = proved(app, shop)

    assert {each.differences for each in verdict.findings} == {("orders 2, want 1",)}
    assert 0 < len(verdict.findings) < verdict.tried / 2


def test_a_key_that_is_remembered_before_the_effect_is_found(app: App, shop: Shop) -> None:
    """Between them the effect is lost: the next attempt takes it for done."""

    @app.handler
    def pay(message: Message) -> None:
        order = message.json()
        with shop.transaction() as db:
            if not db.execute("INSERT INTO inbox VALUES (?) ON CONFLICT DO NOTHING", (message.key,)).rowcount:
                return
        shop.charge(order["cents"])

    verdict = proved(app, shop)

    assert {each.differences for each in verdict.findings} == {("charges 0, want 1",)}


def test_nothing_is_found_in_a_right_handler(app: App, shop: Shop) -> None:
    """The row in the inbox and the effect in one transaction; and a provider that is told the key."""

    @app.handler
    def pay(message: Message) -> None:
        order = message.json()
        shop.charge(order["cents"], key=message.key)
        with shop.transaction() as db:
            if not db.execute("INSERT INTO inbox VALUES (?) ON CONFLICT DO NOTHING", (message.key,)).rowcount:
                return
            db.execute("INSERT INTO orders VALUES (?, ?)", (order["number"], order["cents"]))

    verdict = proved(app, shop)

    assert verdict.findings == ()
    assert verdict.tried == verdict.many > 20
    assert verdict.missed == 0
    assert str(verdict).startswith("safe to repeat at every line (")
    assert [cents for _, cents in shop.charged()] == [100]


def test_a_kill_runs_no_finally_and_writes_no_buffer(app: App, shop: Shop) -> None:
    """As `kill -9`: what a killed attempt would have cleared up is still there, what it had not flushed never was."""

    @app.handler
    def work() -> None:
        file = (shop.folder / "buffered").open("a")
        try:
            file.write("a line in a buffer")
            shop.note("begun")
        finally:
            shop.note("cleared up")
            file.close()

    verdict = prove_handler(app, "default", "", world=lambda: {"notes": shop.notes()}, reset=shop.reset)

    found = {line_of(each): each.differences for each in verdict.findings}
    assert found['shop.note("begun")'] == ("notes 3, want 2",)
    assert found['shop.note("cleared up")'] == ("notes 4, want 2",)


def test_an_effect_that_is_left_in_a_buffer_is_found(app: App, shop: Shop) -> None:
    """The message is completed, its instance is killed before the end of the lifespan: nobody does it again."""

    @contextmanager
    def lifespan() -> Iterator[list[int]]:
        kept: list[int] = []
        yield kept
        for cents in kept:
            shop.charge(cents)

    app = App("shop", lifespan=lifespan)

    @app.handler
    def pay(message: Message, ctx: list[int]) -> None:
        ctx.append(message.json()["cents"])

    (finding,) = proved(app, shop).findings

    assert finding.point.place.when is When.END
    assert finding.differences == ("charges 0, want 1",)


def test_a_thread_that_nobody_waits_for_is_found(app: App, shop: Shop) -> None:
    """It goes on after the completion, and is killed with its process."""

    def pay_later() -> None:
        time.sleep(LATER)
        shop.charge(1)

    @app.handler
    def pay() -> None:
        threading.Thread(target=pay_later).start()

    findings = proved(app, shop).findings

    assert [each.point.place.when for each in findings] == [When.END]
    assert findings[0].differences == ("charges 0, want 1",)


def test_a_thread_that_goes_on_for_ever_is_waited_for_once(app: App, shop: Shop) -> None:
    """Clients of many services have one; a proof does not wait for it at every line."""

    @app.handler
    def work() -> None:
        threading.Thread(target=threading.Event().wait).start()

    verdict = proved(app, shop)

    assert verdict.is_safe
    assert verdict.seconds < 2 * CLOSING


def test_a_lock_that_a_killed_attempt_leaves_is_found(app: App, shop: Shop) -> None:
    """The next attempt waits for it for ever."""
    lock = shop.folder / "lock"

    @app.handler(timeout=0.5)
    def work() -> None:
        while lock.exists():
            time.sleep(0.01)
        lock.touch()
        shop.note("worked")
        lock.unlink()

    verdict = proved(app, shop)

    assert {line_of(each) for each in verdict.findings} >= {"lock.touch()", 'shop.note("worked")'}
    assert {each.differences for each in verdict.findings} == {("message did not return within 0.5 s, want completed",)}


def test_a_lifespan_that_cannot_begin_again_is_found(shop: Shop) -> None:
    """A killed instance leaves its file behind, and no other starts."""

    @contextmanager
    def lifespan() -> Iterator[None]:
        running = shop.folder / "running"
        running.touch(exist_ok=False)
        yield
        running.unlink()

    app = App("shop", lifespan=lifespan)

    @app.handler
    def work() -> None:
        pass

    verdict = proved(app, shop)

    assert "the lifespan lifespan (test_handlers.py" in verdict.findings[0].differences[0]
    assert "FileExistsError" in verdict.findings[0].differences[0]


def test_a_handler_that_takes_a_second_attempt_for_a_repeated_effect_is_found(app: App, shop: Shop) -> None:
    """The first may have been killed before anything happened. Redelivered it has attempt 2, the same id and key."""

    @app.handler
    def pay(message: Message) -> None:
        shop.note(f"{message.id} {message.key} {message.body}")
        if message.attempt == 1:
            shop.charge(message.json()["cents"])

    verdict = proved(app, shop)

    assert verdict.findings[0].point.place.when is When.BEFORE
    assert verdict.findings[0].differences == ("charges 0, want 1",)
    assert len(set(shop.notes())) == 1


def test_each_time_of_a_line_in_a_loop_is_a_crash_point(app: App, shop: Shop) -> None:
    """Killed after the second of three, two are repeated."""

    @app.handler
    def pay() -> None:
        for cents in (1, 2, 3):
            shop.charge(cents)

    verdict = proved(app, shop)
    told = "\n".join(verdict.finding_lines())

    assert told.splitlines()[0].endswith('`with self.charges.open("a") as file:` (2nd time): charges 4, want 3')
    charged = [each for each in verdict.findings if line_of(each) == "shop.charge(cents)"]
    assert [(each.point.time, each.differences) for each in charged] == [
        (1, ("charges 4, want 3",)),
        (2, ("charges 5, want 3",)),
        (3, ("charges 6, want 3",)),
    ]


def test_a_long_loop_is_bounded_and_says_so(app: App, shop: Shop) -> None:
    """Of every line the first time and the last, then the second, …; how many there are is told."""

    @app.handler
    def work() -> None:
        for number in range(500):
            abs(number)
        shop.charge(1)

    verdict = prove_handler(app, "default", "", world=shop.world, reset=shop.reset, most=30)

    assert verdict.tried == 30
    assert verdict.many > 1000
    assert verdict.findings, "the line behind the loop was not tried"
    assert f"30 of {verdict.many:,} crash points were tried" in str(verdict)
    assert f"--most {verdict.many}" in str(verdict)


def test_what_was_done_before_a_reject_is_compared(app: App, shop: Shop) -> None:
    """A message that fails is handled again, too, if its handler is killed before that is recorded."""

    @app.handler
    def pay() -> None:
        shop.charge(1)
        raise Reject("nobody pays that")

    verdict = proved(app, shop)

    assert {each.differences for each in verdict.findings} == {("charges 2, want 1",)}
    assert verdict.fate.startswith("rejected: nobody pays that (test_handlers.py, line ")


def test_an_exception_is_a_fate(app: App, shop: Shop) -> None:
    """The same one at every attempt is safe; another one is found, whatever the world says."""

    @app.handler("wrong")
    def wrong(message: Message) -> None:
        raise ValueError(message.body)

    @app.handler("exists")
    def exists() -> None:
        (shop.folder / "made").touch(exist_ok=False)

    same, other = proved(app, shop, "wrong"), proved(app, shop, "exists")

    assert same.is_safe
    assert same.fate.startswith("failed: ValueError: {")
    assert all(
        each.differences[0].startswith("message failed: FileExistsError: ")
        and each.differences[0].endswith(", want completed")
        for each in other.findings
    )
    assert other.findings


def test_what_is_asked_of_redis_is_compared_without_a_world(app: App) -> None:
    """Writes and messages of the attempt that completes: those of a killed one are dropped."""

    @app.handler("same")
    def same(message: Message) -> None:
        message.commit.incrby(message.key_for("sum"), 5)
        message.publish("mail", {"to": "ann"}, key="mail-1", delay=2)

    @app.handler("other")
    def other(message: Message) -> None:
        message.commit.incrby(message.key_for("sum"), message.attempt)
        if message.attempt == 1:
            message.publish("mail", {"to": "ann"})

    right, wrong = prove_handler(app, "same", ""), prove_handler(app, "other", "")

    assert right.is_safe
    assert "as far as Redis goes" in str(right)
    assert wrong.findings[0].differences == (
        "committed `incrby sum 2`, want `incrby sum 1`",
        'published 0, want 1 (`mail {"to":"ann"}` missing)',
    )


def test_a_message_that_is_tried_again_is_killed_in_each_attempt(app: App, shop: Shop) -> None:
    """The effect is in the second; how long it is to wait is not waited for."""

    @app.handler(retries=3)
    def pay(message: Message) -> None:
        if message.attempt == 1:
            raise Retry("the shop is closed", after=3600)
        shop.charge(1)

    verdict = proved(app, shop)

    assert {each.point.process for each in verdict.findings} == {1}
    assert next(verdict.finding_lines()).startswith("killed in attempt 2, in line ")


def test_a_batch_is_delivered_again_whole(app: App, shop: Shop) -> None:
    """With the fate of each message."""

    @app.handler("row", batch=10)
    def store(messages: list[Message]) -> None:
        for message in messages:
            if message.body == "bad":
                message.reject("this one alone")
            else:
                shop.charge(int(message.body), key=message.key)

    verdict = prove_handler(app, "row", "1", "bad", "2", world=shop.world, reset=shop.reset)

    assert verdict.is_safe
    assert verdict.fate == "rejected: this one alone"
    assert [cents for _, cents in shop.charged()] == [1, 2]


def test_what_is_around_a_handler_has_crash_points_too(app: App, shop: Shop) -> None:
    """A transaction of one's own, say."""

    @app.around
    def charged(call, message):  # type: ignore[no-untyped-def]  # as users write it
        call(message)
        shop.charge(1)

    @app.handler
    def work() -> None:
        pass

    assert any(line_of(each) == "shop.charge(1)" for each in proved(app, shop).findings)


def test_calls_to_a_fake_in_the_memory_of_the_test_are_compared(app: App) -> None:
    """World and reset are called in the test's process, where the fake lives; attempts reach it as they would the real one."""
    calls: list[str | None] = []

    class Provider(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            key = self.headers["Idempotency-Key"]
            if key is None or key not in calls:
                calls.append(key)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/"

    @app.handler("naive")
    def naive() -> None:
        urlopen(Request(url, method="POST")).close()

    @app.handler("right")
    def right(message: Message) -> None:
        urlopen(Request(url, headers={"Idempotency-Key": message.key}, method="POST")).close()

    try:
        doubled = prove_handler(app, "naive", "", world=lambda: {"calls": calls}, reset=calls.clear)
        once = prove_handler(app, "right", "", world=lambda: {"calls": calls}, reset=calls.clear)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

    assert {each.differences for each in doubled.findings} == {("calls 2, want 1",)}
    assert once.is_safe
    assert not once.is_blind
