# SPDX-License-Identifier: Apache-2.0
"""The sample configuration file of documentation, tests and benchmarks.

It contains only data, `estate.yaml`, and its loading: no code that generates data, and no secrets.
"""

from importlib.resources import files


def example_estate() -> bytes:
    """Read the configuration file of the example estate."""
    return files(__name__).joinpath("estate.yaml").read_bytes()
