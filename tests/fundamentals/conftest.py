"""The crew of tests/processes."""

from tests.processes.conftest import crew

__all__ = ["crew"]
