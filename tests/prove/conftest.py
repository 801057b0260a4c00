"""A shop in a folder of the test's own; and the fixture that users import."""

from pathlib import Path

import pytest

from soloist.prove.pytest import prove
from tests.prove.shop import Shop

__all__ = ["prove"]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Empty."""
    folder = tmp_path / "shop"
    folder.mkdir()
    made = Shop(folder)
    made.reset()
    return made
