"""What becomes of each script when its replies are lost: where the cases of test_lost_replies.py are gathered."""

from collections.abc import Callable

from tests.processes.ensemble import IN_TIME, SCRIPTS, Done, Ensemble, wait_for_all

CASES: dict[str, Callable[[Ensemble], None]] = {}


def case(function: Callable[[Ensemble], None]) -> Callable[[Ensemble], None]:
    CASES[function.__name__.split("_")[1]] = function
    return function


def repeat(ensemble: Ensemble, name: str, *words: str, namespace: str = "") -> Done:
    """The same command again; the reply is late, but in time."""
    rules = ensemble.harm(SCRIPTS[name].sha, IN_TIME)
    done = ensemble.run(*words, namespace=namespace)
    wait_for_all(rules)
    return done
