"""Is a server fit for us? Read from INFO, since managed servers forbid CONFIG."""

import logging
import time
from dataclasses import dataclass
from enum import Enum
from statistics import median

from soloist.errors import Defect, Forbidden, SoloistError, UnfitServer
from soloist.store.keys import PREFIX, Keys
from soloist.store.link import Link
from soloist.store.replies import text
from soloist.store.server import Server

OLDEST = (7, 0)
FIRST_CONTACT = 2.0
PINGS = 20

log = logging.getLogger("soloist")


class Severity(Enum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    UNFIT = "unfit"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    severity: Severity
    says: str
    remedy: str = ""


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
        else Finding("version", Severity.UNFIT, f"{name} is too old", "Use Redis 7.0 or newer, or Valkey 8 or newer.")
    ]
    if about.get("role", "master") != "master":
        primary = f"{about.get('master_host', '?')}:{about.get('master_port', '?')}"
        findings.append(Finding("role", Severity.UNFIT, "this is a read-only replica", f"Name its primary, {primary}."))
    policy = about.get("maxmemory_policy", "noeviction")
    if policy == "noeviction" or about.get("maxmemory", "0") == "0":
        findings.append(Finding("eviction", Severity.OK, policy))
    else:
        says = f"maxmemory-policy is {policy}: when memory is full the server would throw away messages or leases"
        findings.append(Finding("eviction", Severity.UNFIT, says, "Set maxmemory-policy to noeviction."))
    if about.get("aof_enabled") == "1":
        findings.append(Finding("persistence", Severity.OK, "append-only file"))
    else:
        says = "no append-only file: a restart of the server loses what came since its last snapshot, or everything"
        findings.append(Finding("persistence", Severity.WARNING, says, "Set appendonly to yes."))
    return findings


def first_contact(server: Server) -> dict[str, str]:
    """Whether a Redis answers there and lets us in; what INFO says of it."""
    link = Link(server, FIRST_CONTACT)
    try:
        link.command("PING")
        return info(link)
    except Defect as error:
        raise UnfitServer(f"{server}: what answers there is no Redis: {error}") from None
    finally:
        link.close()


def check_fit(server: Server, *, embedded: bool = False) -> None:
    """Refuse, with the remedy, what cannot work."""
    about = first_contact(server)
    for finding in static_findings(about):
        if finding.severity is Severity.UNFIT:
            raise UnfitServer(f"{server}: {finding.says}. {finding.remedy}")
        if finding.severity is Severity.WARNING and not embedded:
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
    for _ in range(PINGS):
        sent = time.monotonic()
        link.command("PING")
        trips.append((time.monotonic() - sent) * 1000)
    says = f"median {median(trips):.2f} ms, worst {max(trips):.2f} ms of {PINGS}"
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
        except SoloistError as error:
            findings.append(Finding(what, severity, f"refused: {error}", remedy))
        else:
            findings.append(Finding(what, Severity.OK, "allowed"))
    return findings
