"""The fixture `prove`, for a conftest.py: `from soloist.prove.pytest import prove`. It does not load itself.

def test_paying_may_be_killed_anywhere(prove):
    prove(app, "payment", {"cents": 100}, world=world, reset=reset)
"""

from typing import Any

import pytest

from soloist.prove.proving import prove_handler, prove_source
from soloist.prove.verdict import Verdict


class Prove:
    """Calls `prove_handler`, or `prove_source` as `prove.source`, with the same arguments; what is not safe fails the test."""

    def __call__(self, *given: Any, **named: Any) -> Verdict:
        return _required(prove_handler(*given, **named))

    def source(self, *given: Any, **named: Any) -> Verdict:
        return _required(prove_source(*given, **named))


@pytest.fixture
def prove() -> Prove:
    """Fails the test with every finding if a handler, or a source, is not safe to be killed at every line."""
    return Prove()


def _required(verdict: Verdict) -> Verdict:
    __tracebackhide__ = True
    if not verdict.is_safe:
        raise AssertionError(str(verdict))
    return verdict
