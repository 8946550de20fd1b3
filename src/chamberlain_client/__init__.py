# SPDX-License-Identifier: Apache-2.0
"""The SDK: call Chamberlain's HTTP API with typed values.

It is a distribution of its own: it knows the wire, nothing of the service's code, and needs only an HTTP library and a
JSON library.

Start with `Chamberlain` or `AsyncChamberlain`. `chamberlain_client.models` has their arguments and results,
`chamberlain_client.events` the events, and `chamberlain_client.errors` all errors.
"""

from msgspec import UNSET, UnsetType

from chamberlain_client.asynchronous.client import AsyncChamberlain
from chamberlain_client.asynchronous.transport import AsyncPages
from chamberlain_client.errors import ChamberlainError
from chamberlain_client.responses import Page
from chamberlain_client.synchronous.client import Chamberlain
from chamberlain_client.synchronous.transport import Pages
from chamberlain_client.timing import AsyncClock, Clock, Retries
from chamberlain_client.version import __version__

__all__ = [
    "UNSET",
    "AsyncChamberlain",
    "AsyncClock",
    "AsyncPages",
    "Chamberlain",
    "ChamberlainError",
    "Clock",
    "Page",
    "Pages",
    "Retries",
    "UnsetType",
    "__version__",
]
