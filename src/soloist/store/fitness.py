"""Is a server fit for us? Read from INFO, since managed servers forbid CONFIG."""

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from statistics import median

from soloist.errors import Defect, Denied, Forbidden, SoloistError, Unavailable, UnfitServer
from soloist.store.keys import PREFIX, Keys
from soloist.store.link import Link
from soloist.store.replies import text
from soloist.store.server import NEW_ENOUGH, Server

OLDEST = (7, 0)
FIRST_CONTACT = 2.0
"""Seconds for one step of the first contact: connecting, one question."""

FIRST_CONTACT_IN_ALL = 3.5
"""Seconds for all of it: a name may have many addresses, and something may answer so slowly that no step ends."""

QUESTIONS = 20
"""How often the doctor asks to learn how long it takes. It asks for TIME: PING is refused while the disk is full."""

NAME_IT = "Is a Redis or Valkey server running there? Name the right one with --url, or --addr HOST:PORT."

log = logging.getLogger("soloist")


class Severity(Enum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    UNFIT = "unfit"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        forced: somebody who knows better may use the server all the same (--force).
        reads: a server with this finding can be read from.
    """

    what: str
    severity: Severity
    says: str
    remedy: str = ""
    forced: bool = False
    reads: bool = False


def info(link: Link) -> dict[str, str]:
    """What INFO says; empty where it is forbidden."""
    try:
        lines = text(link.command("INFO", "everything")).splitlines()
    except Forbidden as error:
        if "info" in str(error).lower():
            return {}
        raise
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def version(about: dict[str, str]) -> tuple[str, tuple[int, ...]]:
    """The server's name with version, and the version of Redis that it is compatible with."""
    name = about.get("server_name", "redis")
    shown = about.get("valkey_version") or about.get("redis_version", "unknown")
    compatible = about.get("redis_version", "0")
    return f"{name} {shown}", tuple(int(part) for part in compatible.split(".")[:2] if part.isdigit())


def static_findings(about: dict[str, str]) -> list[Finding]:
    """What INFO alone tells."""
    if not about:
        return [Finding("info", Severity.WARNING, "INFO is forbidden here: nothing could be checked", "Allow +info.")]
    name, compatible = version(about)
    findings = [
        Finding("version", Severity.OK, name)
        if compatible >= OLDEST
        else Finding("version", Severity.UNFIT, f"{name} is too old", NEW_ENOUGH)
    ]
    if about.get("redis_mode") == "sentinel":
        says = "this is a Sentinel, which keeps no data"
        findings.append(Finding("role", Severity.UNFIT, says, "Name the server that it watches over."))
    elif about.get("role", "master") != "master":
        primary = f"{about.get('master_host', '?')}:{about.get('master_port', '?')}"
        says = "this is a read-only replica"
        findings.append(Finding("role", Severity.UNFIT, says, f"Name its primary, {primary}.", reads=True))
    findings.append(_eviction(about))
    if about.get("aof_enabled") == "1":
        findings.append(Finding("persistence", Severity.OK, "append-only file"))
    else:
        says = "no append-only file: a restart of the server loses what came since its last snapshot, or everything"
        findings.append(Finding("persistence", Severity.WARNING, says, "Set appendonly to yes."))
    return findings


def evicts(about: dict[str, str]) -> bool:
    """Whether the server would throw keys of ours away when its memory is full.

    volatile-* evicts keys with an expiry only. Ours have none (a contract test looks at the scripts), and when nothing
    is left to evict such a server refuses writes, as with noeviction.
    """
    return about.get("maxmemory", "0") != "0" and about.get("maxmemory_policy", "").startswith("allkeys-")


def _eviction(about: dict[str, str]) -> Finding:
    policy = about.get("maxmemory_policy", "noeviction")
    if not evicts(about):
        return Finding("eviction", Severity.OK, policy)
    says = f"maxmemory-policy is {policy}: when memory is full the server throws messages away"
    return Finding("eviction", Severity.UNFIT, says, "Set maxmemory-policy to noeviction.", forced=True, reads=True)


def first_contact(server: Server, within: float | None = FIRST_CONTACT_IN_ALL) -> dict[str, str]:
    """Whether a Redis answers there and lets us in; what INFO says of it.

    Args:
        within: seconds for all of it; None for as long as it takes (the embedded server may have to be started).
    """
    outcome: list[dict[str, str] | Exception] = []
    asking = threading.Thread(target=lambda: outcome.append(_ask(server)), name="first-contact", daemon=True)
    asking.start()
    asking.join(within)
    about = outcome[0] if outcome else Unavailable(f"{server} does not answer")
    if isinstance(about, Unavailable) and not about.refused:
        raise Unavailable(f"{about}. {NAME_IT}") from None
    if isinstance(about, Exception):
        raise about
    return about


def _ask(server: Server) -> dict[str, str] | Exception:
    link = Link(server, FIRST_CONTACT)
    try:
        with suppress(Denied):  # who may not ask that is let in all the same
            link.command("TIME")
        return info(link)
    except Defect as error:
        return UnfitServer(f"{server}: what answers there is no Redis ({_quoted(error)}). {NAME_IT}")
    except Exception as error:  # noqa: BLE001 - raised by the one who waits
        return error
    finally:
        link.close()


def _quoted(error: Defect) -> str:
    """What was answered, without the name of the server; a stranger may say a lot."""
    return str(error).partition(" answered: ")[2][:80]


def refuse_unfit(server: Server, about: dict[str, str], *, writes: bool = True) -> None:
    """Refuse, with the remedy, what cannot work at all."""
    for finding in static_findings(about):
        if finding.severity is Severity.UNFIT and not finding.forced and (writes or not finding.reads):
            raise UnfitServer(f"{server}: {finding.says}. {finding.remedy}")


def check_fit(server: Server, about: dict[str, str], *, force: bool = False, embedded: bool = False) -> None:
    """Refuse, with the remedy, where messages would not be safe; say what else should be known."""
    for finding in static_findings(about):
        if finding.severity is Severity.UNFIT and not (finding.forced and force):
            anyway = " To use it all the same, and lose messages when its memory is full, say --force." * finding.forced
            raise UnfitServer(f"{server}: {finding.says}. {finding.remedy}{anyway}")
        if finding.severity is not Severity.OK and not embedded:
            log.warning("server.%s says=%r remedy=%r", finding.what, finding.says, finding.remedy)


def examine(server: Server, namespace: str) -> list[Finding]:
    """Everything that the doctor looks at."""
    link = Link(server, FIRST_CONTACT)
    findings = static_findings(info(link))
    findings.append(_latency(link))
    findings.extend(_permissions(link, Keys(namespace)))
    link.close()
    return findings


def _latency(link: Link) -> Finding:
    trips = []
    for _ in range(QUESTIONS):
        sent = time.monotonic()
        link.command("TIME")
        trips.append((time.monotonic() - sent) * 1000)
    says = f"median {median(trips):.2f} ms, worst {max(trips):.2f} ms of {QUESTIONS}"
    if median(trips) > 50:
        return Finding("latency", Severity.WARNING, says, "Raise --heartbeat and --lease: takeovers get slower.")
    return Finding("latency", Severity.OK, says)


def _permissions(link: Link, keys: Keys) -> list[Finding]:
    """Whether scripts, blocking, sharded channels and scanning are allowed to us, tried on a key of our own."""
    probe = f"{keys.base}doctor"
    tries: list[tuple[str, tuple[str, ...], Severity, str]] = [
        ("scripts", ("EVAL", "return redis.call('TIME')[1]", "0"), Severity.UNFIT, "Allow +eval +evalsha +time."),
        (
            "keys",
            ("EVAL", "return redis.call('DEL', KEYS[1])", "1", probe),
            Severity.UNFIT,
            f"Allow +del and ~{PREFIX}*.",
        ),
        ("waiting", ("BLPOP", probe, "0.001"), Severity.UNFIT, "Allow +blpop."),
        (
            "last will",
            ("EVAL", "return redis.call('PUBSUB', 'SHARDNUMSUB', ARGV[1])[2]", "0", keys.alive + "doctor"),
            Severity.WARNING,
            "Allow +pubsub; without it a kill is noticed only by the lease.",
        ),
        (
            "scan",
            ("SCAN", "0", "COUNT", "1"),
            Severity.WARNING,
            "Allow +scan: purge and the list of namespaces need it.",
        ),
        (
            "subscribing",
            ("SSUBSCRIBE", keys.alive + "doctor"),
            Severity.WARNING,
            f"Allow +ssubscribe and &{PREFIX}*; without it a kill is noticed only by the lease.",
        ),
    ]
    findings = []
    for what, command, severity, remedy in tries:
        try:
            link.command(*command)
        except Denied as error:
            findings.append(Finding(what, severity, f"refused: {error}", remedy))
        except SoloistError as error:
            # A replica, a full disk: no permission mends that.
            findings.append(Finding(what, severity, f"refused: {error}"))
        else:
            findings.append(Finding(what, Severity.OK, "allowed"))
    return findings
