# SPDX-License-Identifier: Apache-2.0
"""The example estate as a document that tests change, and what the service reads in it."""

from functools import cache
from typing import Any

import msgspec
import yaml

from chamberlain.configuration.files import Configuration, read_configuration
from chamberlain.embedded.example import example_estate

# The content of YAML; its types are those of the file.
Document = Any


def example_document() -> Document:
    """The example estate, to be changed at will."""
    return msgspec.json.decode(_example())


def configuration_in(document: Document) -> Configuration:
    """The configuration in a document. Each is parsed once, since many tests begin with the same one."""
    # JSON is YAML as well, and written much faster.
    return _configuration_in(msgspec.json.encode(document))


@cache
def _example() -> bytes:
    return msgspec.json.encode(yaml.safe_load(example_estate()))


@cache
def _configuration_in(content: bytes) -> Configuration:
    return read_configuration(content)
