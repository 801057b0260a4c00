"""The fixture `soloist`, for a conftest.py: `from soloist.testing.pytest import soloist`. It does not load itself.

def test_an_order_is_billed(soloist):
    with soloist.run(app) as system:
        system.publish("order", {"number": 1})
        system.wait_until_empty()
"""

from collections.abc import Iterator

import pytest

from soloist.testing.kit import Kit


@pytest.fixture
def soloist() -> Iterator[Kit]:
    """Namespaces of this test's own, on the private server of this process or on that of SOLOIST_TEST_URL."""
    with Kit() as kit:
        yield kit
