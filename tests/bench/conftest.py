"""What the tests of `soloist bench` share."""

from tests.processes.conftest import says

__all__ = ["says"]  # a fixture: a command in this process
