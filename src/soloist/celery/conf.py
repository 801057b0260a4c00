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
    given = {name: app.conf[name] for name in _names(app.conf) if app.conf[name] is not None}
    for name in given:
        if name not in KNOWN:
            meant = "".join(f"Did you mean {each}? " for each in difflib.get_close_matches(name, KNOWN, n=1))
            raise UsageError(
                f"Celery's configuration: there is no setting {name}. {meant}Known are {', '.join(KNOWN)}."
            )
    times = {name: check(name, given[PREFIX + name], PREFIX + name) for name in TIMES if PREFIX + name in given}
    if "lease" in times:
        # A beat holds nothing that others would wait for: there is no reason to have to name both.
        times.setdefault("claim_lease", max(times["lease"], Settings().claim_lease))
    namespace = given.get(PREFIX + "namespace", DEFAULT_NAMESPACE)
    return Configuration(
        _name_of(app), valid_name(namespace, PREFIX + "namespace"), together(times, lambda name: PREFIX + name)
    )


def _names(conf: Any) -> set[str]:
    return {str(name) for name in conf if str(name).startswith(PREFIX)}


def _name_of(app: Any) -> str:
    prefix = (app.conf.broker_transport_options or {}).get("global_keyprefix", "")
    parts = (DEFAULT_NAMESPACE, "" if app.main in (None, "__main__") else str(app.main), str(prefix))
    return re.sub(r"[^A-Za-z0-9_.:/-]", "-", ":".join(part for part in parts if part))[:128]
