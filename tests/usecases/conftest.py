"""The example estate for tests of the use cases."""

from tests.example_fixtures import estate, example

__all__ = ["estate", "example"]
