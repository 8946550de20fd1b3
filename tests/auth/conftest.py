"""The example estate for tests of authorization."""

from tests.example_fixtures import estate, example

__all__ = ["estate", "example"]
