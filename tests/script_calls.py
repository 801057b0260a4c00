"""One call of every wrapper of a script, and what must be sent then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from soloist.settings import Settings
from soloist.store import (
    agenda,
    archive,
    control,
    foreign,
    guard,
    history,
    messages,
    presence,
    records,
    rehearsal,
    report,
    sending,
    snapshot,
    submissions,
)
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server

KEYS = Keys("shop")
SETTINGS = Settings(lease=3, claim_lease=11, heartbeat=0.2, max_pending=77, max_attempts=5)
ANN = presence.Who("ann", 7, "orders", "host", 99, ("mail", "order"))
TURN = messages.TurnCall(
    6,
    "stamp",
    {"mail": messages.Tally(2, 2, 1, 1), "order": messages.Tally(4)},
    [
        messages.Run(
            0,
            4,
            b"1-t",
            [
                messages.FailedMessage(1, b"2-t", b"why"),
                messages.RetriedMessage(2, b"3-t", 250),
                messages.CommittedMessage(
                    3,
                    b"4-t",
                    [
                        messages.Write("hset", "first", ("n", 1)),
                        messages.Write("del", "second"),
                        messages.Write("del", "first"),
                    ],
                    [messages.Followup("mail", b"a mail"), messages.Followup("audit", b"an audit", 60_000)],
                ),
            ],
        ),
        messages.Run(5, 5, b"6-t", is_back=True),
    ],
)
KIND_KEYS = KEYS.of_kinds(("mail", "order"))
LINES = archive.Lines(first=7, count=2, values={KEYS.kinds: ("set", ["mail"]), KEYS.errors: ("hash", ["1-t", b"why"])})


class RecordingLink(Link):
    """Sends nothing; keeps what would have been sent, and gives a prepared answer."""

    def __init__(self, answer: list[Any]) -> None:
        super().__init__(Server("redis://nowhere"), timeout=1)
        self._answer = answer
        self.sent: list[tuple[str, list[str], list[Any]]] = []

    def begin_script(
        self, sha: str, text: str, keys: Sequence[str], args: Sequence[str | bytes | int]
    ) -> Callable[[], list[Any]]:
        self.sent.append((sha, list(keys), list(args)))
        return lambda: self._answer

    def command(self, *words: str | bytes | float) -> Any:
        return {"SCAN": [b"0", [b"one", b"two"]], "SMEMBERS": [b"mail", b"order"], "ZRANGE": [b"1-t", b"9"]}[
            str(words[0])
        ]


@dataclass(frozen=True)
class Call:
    """A wrapper called, and what must be sent then. Keys and arguments by the names in the header."""

    act: Callable[[Link], object]
    answer: list[Any]
    args: dict[str, Any]
    keys: dict[str, str] = field(default_factory=dict)
    """Those that are not called like the key of the namespace, or the caller's own."""
    more_keys: list[Any] = field(default_factory=list)
    more_args: list[Any] = field(default_factory=list)


PAGE = messages.PageCall(
    *(3, 4, 120, "outbox", {"mail": [b"one", b"two"], "order": [b"three"]}),
    cursor="c",
    tick=500,
    overlap="skip",
    skipped=6,
)

CALLS = {
    "join": Call(
        lambda link: presence.join(link, KEYS, ANN, SETTINGS),
        [b"OK", 7, b"stamp", 1],
        {
            "id": "ann",
            "number": 7,
            "app": "orders",
            "protocol": guard.PROTOCOL,
            "host": "host",
            "pid": 99,
            "claim_lease_ms": 11_000,
            "interval_ms": 200,
        },
        keys={"presence": KEYS.instances},
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "beat": Call(
        lambda link: presence.beat(
            link, KEYS, ANN, SETTINGS, term=3, may_generate=True, busy=False, will=8, tag="tag", known=(4, "stamp")
        ),
        [b"OK", 1, b"handler", 0, 150, 1, [], [], 0],
        {
            "id": "ann",
            "role": "instance",
            "term": 3,
            "may_generate": 1,
            "busy": 0,
            "will": 8,
            "heartbeat_ms": 200,
            "lease_ms": 3000,
            "claim_lease_ms": 11_000,
            "channel": KEYS.alive,
            "tag": "tag",
            "max_attempts": 5,
            "turn": 4,
            "stamp": "stamp",
        },
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "leave": Call(
        lambda link: presence.leave(link, KEYS, "ann", SETTINGS, ANN.kinds),
        [b"OK", 0],
        {"id": "ann", "max_attempts": 5},
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "reclaim": Call(
        lambda link: presence.reclaim(link, KEYS, "ann", "bob", SETTINGS, ANN.kinds),
        [b"OK", 0],
        {"id": "ann", "judge_id": "bob", "lease_ms": 3000, "max_attempts": 5, "channel": KEYS.alive},
        keys={"judge": KEYS.instance("bob")},
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "publish": Call(
        lambda link: messages.publish(link, KEYS, "ann", SETTINGS, PAGE),
        [b"OK", 1],
        {
            "id": "ann",
            "term": 3,
            "call": 4,
            "first": 120,
            "lease_ms": 3000,
            "max_pending": 77,
            "source": "outbox",
            "cursor": "=c",
            "tick": 500,
            "overlap": "skip",
            "skipped": 6,
            "kinds_count": 2,
        },
        more_keys=KIND_KEYS,
        more_args=["mail", "order", 2, 1, b"one", b"two", b"three"],
    ),
    "next": Call(
        lambda link: messages.next_turn(link, KEYS, "ann", SETTINGS, TURN),
        [b"OK", b"later", [], [], 0, []],
        {
            "id": "ann",
            "turn": 6,
            "stamp": "stamp",
            "heartbeat_ms": 200,
            "max_attempts": 5,
            "kinds_count": 3,
            "runs_count": 2,
        },
        keys={"schedule_runs": KEYS.runs},
        more_keys=[*KIND_KEYS, *KEYS.of_kinds(["audit"]), "first", "second"],
        more_args=[
            *("mail", 2, 2, 1, 1, "order", 4, 0, 0, 0, "audit", 0, 0, 0, 0),
            *("done", 0, 4, b"1-t", 3, 1, b"2-t", "failed", 1, b"why", 2, b"3-t", "retried", 1, 250),
            *(3, b"4-t", "committed", 17, 3, "hset", 0, 2, "n", 1, "del", 1, 0, "del", 0, 0),
            *(2, 0, b"a mail", 60_000, b"an audit"),
            *("back", 5, 5, b"6-t", 0),
        ],
    ),
    "drain": Call(lambda link: records.drain(link, KEYS, "ann", 9), [b"EMPTY"], {"id": "ann", "limit": 9}),
    "confirm": Call(
        lambda link: records.confirm(link, KEYS, "ann", ["1-t", "2-t"]),
        [b"OK", 2],
        {"id": "ann"},
        more_args=["1-t", "2-t"],
    ),
    "requeue": Call(
        lambda link: records.requeue(link, KEYS, [("1-t", 7), ("2-t", 8)], ["mail"]),
        [b"OK", 2],
        {"ids_count": 2},
        more_keys=KEYS.of_kinds(["mail"]),
        more_args=["1-t", 7, "2-t", 8, "mail"],
    ),
    "discard": Call(lambda link: records.discard(link, KEYS, [("1-t", 7)]), [b"OK", 1], {}, more_args=["1-t", 7]),
    "peek": Call(
        lambda link: list(records.pages(link, KEYS, (5, None), bodies=False)),
        [b"OK", []],
        {"first": 5, "last": 9, "newest": 0, "limit": records.PAGE, "bodies": 0},
    ),
    "inventory": Call(
        lambda link: archive.inventory(link, KEYS),
        [b"OK", 1, [], [], [], [], [], [], 0, 0, b"", []],
        {},
    ),
    "extract": Call(
        lambda link: list(archive.waiting(link, KEYS, "mail", "delayed")),
        [b"OK", []],
        {"delayed": 1, "first": 0, "limit": archive.PAGE},
        keys={"messages": f"{KEYS.base}delayed:mail"},
    ),
    "prepare": Call(
        lambda link: archive.prepare(link, KEYS, "digest", ["mail", "order"]),
        [b"OK", 0],
        {"import": "digest"},
        more_keys=[*(key for key in KEYS.single if key not in (KEYS.meta, KEYS.totals, KEYS.log)), *KIND_KEYS],
    ),
    "restore": Call(
        lambda link: archive.restore(link, KEYS, "digest", LINES, is_last=True),
        [b"OK", 8],
        {"import": "digest", "first": 7, "lines": 2, "is_last": 1},
        more_keys=[KEYS.kinds, KEYS.errors],
        more_args=["set", 1, "mail", "hash", 2, "1-t", b"why"],
    ),
    "pause": Call(
        lambda link: control.pause(link, KEYS, ["mail"], ["source:outbox", "schedule:nightly"], on=True),
        [b"OK", 1],
        {"pause": 1, "kinds_count": 1},
        more_keys=KEYS.of_kinds(["mail"]),
        more_args=["mail", "source:outbox", "schedule:nightly"],
    ),
    "enlist": Call(
        lambda link: submissions.enlist(link, KEYS, "eve", "orders"),
        [b"OK", 1],
        {"producer": "eve", "app": "orders", "protocol": guard.PROTOCOL},
    ),
    "submit": Call(
        lambda link: submissions.submit(
            link,
            KEYS,
            "eve",
            77,
            submissions.SubmitCall(
                3,
                {"mail": [b"one", b"two"], "order": [b"three"]},
                [
                    submissions.SpecialMessage(1, delay_ms=50, waits="unique a b"),
                    submissions.SpecialMessage(3, at_ms=9000),
                ],
            ),
        ),
        [b"OK", 1, [b"1", b"7-t"]],
        {"producer": "eve", "call": 3, "max_pending": 77, "kinds_count": 2, "specials_count": 2},
        more_keys=KIND_KEYS,
        more_args=["mail", "order", 2, 1, 1, 50, 0, "unique a b", 3, 0, 9000, "", b"one", b"two", b"three"],
    ),
    "agenda": Call(lambda link: agenda.read_agenda(link, KEYS, 4), [b"OK", 1, 4, [], [], [], []], {"known": 4}),
    "schedule": Call(
        lambda link: agenda.put_schedule(link, KEYS, "nightly", b"{}"), [b"OK", 1], {"name": "nightly", "json": b"{}"}
    ),
    "declare": Call(
        lambda link: agenda.declare(link, KEYS, "ann", 3, {"nightly": b"{}", "often": b"{ }"}),
        [b"OK", 2],
        {"id": "ann", "term": 3},
        more_args=["nightly", b"{}", "often", b"{ }"],
    ),
    "send": Call(
        lambda link: sending.send(
            link,
            KEYS,
            "ann",
            SETTINGS,
            sending.SendCall(
                *(3, 4, 9, "nightly", 500, 6),
                post=sending.Post([("celery", "one"), ("slow", "two")], [("/0.all", "three")]),
            ),
        ),
        [b"OK", 1],
        {
            "id": "ann",
            "term": 3,
            "call": 4,
            "lease_ms": 3000,
            "agenda": 9,
            "entry": "nightly",
            "tick": 500,
            "runs": 6,
        },
        more_keys=["celery", "slow"],
        more_args=["one", "two", "/0.all", "three"],
    ),
    "handover": Call(lambda link: control.handover(link, KEYS, 3), [b"OK", 3, b"ann"], {"term": 3}),
    "snapshot": Call(
        lambda link: snapshot.snapshot(link, KEYS, snapshot.Found(("ann", "bob"), ("eve",), ("mail", "order"))),
        [b"OK", 1, [], [], [], [], 0, [], [], [], []],
        {"instances_count": 2, "drainers_count": 1, "kinds_count": 2},
        more_keys=[
            *(KEYS.instance("ann"), KEYS.claimed("ann"), KEYS.instance("bob"), KEYS.claimed("bob")),
            *(KEYS.instance("eve"), KEYS.drained("eve"), *KIND_KEYS),
        ],
        more_args=["ann", "bob", "eve", "mail", "order"],
    ),
    "sample": Call(
        lambda link: history.sample(link, KEYS, "ann", 3, ("mail", "order")),
        [b"OK"],
        {"id": "ann", "term": 3},
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "report": Call(
        lambda link: report.report(link, KEYS, "ann", 4, "{}"), [b"OK"], {"id": "ann", "number": 4, "report": "{}"}
    ),
    "survey": Call(
        lambda link: foreign.of_another_type(link, KEYS, [b"one", b"two"]),
        [b"OK", [b"none", b"none"]],
        {},
        more_keys=[b"one", b"two"],
    ),
    "outstanding": Call(
        lambda link: rehearsal.outstanding(link, KEYS, ("mail", "order")),
        [b"OK", 1, 0, [b"mail", 2, 1, b"order", 0, 0]],
        {},
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "elapse": Call(
        lambda link: rehearsal.elapse(link, KEYS, ("mail", "order"), 500),
        [b"OK"],
        {"ms": 500},
        more_keys=KIND_KEYS,
        more_args=["mail", "order"],
    ),
    "vouch": Call(lambda link: rehearsal.vouch(link, KEYS, "ann", 1000), [b"OK", 1], {"ms": 1000}),
    "retime": Call(
        lambda link: rehearsal.retime(link, KEYS, ["nightly", "often"], 77),
        [b"OK", 5],
        {"tick": 77},
        more_args=["nightly", "often"],
    ),
    "purge": Call(
        lambda link: snapshot.purge(link, KEYS),
        [b"OK", 2],
        {},
        more_keys=sorted([b"one", b"two", *(key.encode() for key in (*KEYS.single, *KIND_KEYS))]),
    ),
}


def key_named(name: str) -> str:
    """The key that a header calls so, if the call says nothing else."""
    of_one = {"instance": KEYS.instance, "claimed": KEYS.claimed, "drained": KEYS.drained}
    key: str = of_one[name]("ann") if name in of_one else getattr(KEYS, name)
    return key
