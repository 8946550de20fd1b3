"""The SDK: calls Chamberlain's HTTP API with typed values.

It is a separate product for whoever writes programs against the service: it knows the wire and nothing of the service's
own code, and needs an HTTP library and a library for JSON, no more.

`Chamberlain` and `AsyncChamberlain` are where to begin. What they take and give is in `chamberlain_client.models`, and
everything that they raise in `chamberlain_client.errors`.
"""

from chamberlain_client.absent import UNSET, UnsetType
from chamberlain_client.answers import Page
from chamberlain_client.asynchronous.client import AsyncChamberlain
from chamberlain_client.asynchronous.pages import AsyncPages
from chamberlain_client.clocks import AsyncClock, Clock
from chamberlain_client.errors import ChamberlainError
from chamberlain_client.retries import Retries
from chamberlain_client.synchronous.client import Chamberlain
from chamberlain_client.synchronous.pages import Pages
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
