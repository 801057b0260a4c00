"""How an instance of a trial is started: `soloist run` in a process of its own, told everything by its environment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict

from soloist.settings import ENVIRONMENT_PREFIX, Settings


def instance_words(*words: str) -> list[str]:
    """The command: `soloist run` with these words."""
    return [sys.executable, "-P", "-m", "soloist", "run", *words, "--log-level", "warning"]


def instance_environment(settings: Settings, variables: Mapping[str, str]) -> dict[str, str]:
    """What it gets: these settings and variables, and nothing of soloist's that happens to be set here."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    wanted = {ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in asdict(settings).items()}
    return {**own, **wanted, **variables}
