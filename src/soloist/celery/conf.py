"""What the Celery app's configuration says to us: all optional, all beginning with `soloist_`."""

import difflib
import re
from dataclasses import dataclass
from typing import Any

from soloist.app import valid_name
from soloist.errors import UsageError
from soloist.settings import Settings, check, together

PREFIX = "soloist_"
TIMES = ("lease", "claim_lease", "heartbeat")
KNOWN = tuple(PREFIX + name for name in ("namespace", *TIMES))
DEFAULT_NAMESPACE = "celery-beat"


@dataclass(frozen=True)
class Configuration:
    """What it comes to.

    Attributes:
        name: of the App to which the namespace belongs: two projects that share a database must not take turns.
    """

    name: str
    namespace: str
    settings: Settings


def configuration_of(app: Any) -> Configuration:
    """Read it.

    Raises:
        UsageError: a setting that is not known, or not possible.
    """
    for name in _names(app.conf):
        if name not in KNOWN:
            meant = "".join(f"Did you mean {each}? " for each in difflib.get_close_matches(name, KNOWN, n=1))
            raise UsageError(
                f"Celery's configuration: there is no setting {name}. {meant}Known are {', '.join(KNOWN)}."
            )
    given = {name: value for name in KNOWN if (value := app.conf.get(name)) is not None}
    times = {name: check(name, given[PREFIX + name], PREFIX + name) for name in TIMES if PREFIX + name in given}
    if "lease" in times:
        # A beat holds nothing that others would wait for: there is no reason to have to name both.
        times.setdefault("claim_lease", max(times["lease"], Settings().claim_lease))
    namespace = given.get(PREFIX + "namespace", DEFAULT_NAMESPACE)
    return Configuration(
        _name_of(app), valid_name(namespace, PREFIX + "namespace"), together(times, lambda name: PREFIX + name)
    )


def _names(conf: Any) -> list[str]:
    """Those that begin like ours; with a prefix of the user's own (CELERY_SOLOIST_LEASE) they are written in capitals."""
    names = {str(name).removeprefix(conf.prefix or "").lower() for name in conf}
    return sorted(name for name in names if name.startswith(PREFIX))


def _name_of(app: Any) -> str:
    prefix = (app.conf.broker_transport_options or {}).get("global_keyprefix", "")
    parts = (DEFAULT_NAMESPACE, "" if app.main in (None, "__main__") else str(app.main), str(prefix))
    return re.sub(r"[^A-Za-z0-9_.:/-]", "-", ":".join(part for part in parts if part))[:128]
