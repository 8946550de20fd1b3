"""The example estate for tests of the store."""

from tests.example_fixtures import estate, example

__all__ = ["estate", "example"]
