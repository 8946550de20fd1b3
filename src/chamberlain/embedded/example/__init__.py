"""The example estate: a configuration file that the documentation, tests and benchmarks start from.

Here lives data, `estate.yaml`, and its loading. No code that makes example data may live here, and no secret.
"""

from importlib.resources import files


def example_estate() -> bytes:
    """The configuration file of the example estate."""
    return files(__name__).joinpath("estate.yaml").read_bytes()
