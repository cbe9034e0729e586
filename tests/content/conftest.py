"""The tests of the shipped content run in `make test`; `make test-fast` has the tests of the program."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of the content as slow: together they take a minute of CPU time."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
