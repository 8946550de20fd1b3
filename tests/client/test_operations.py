# SPDX-License-Identifier: Apache-2.0
"""Compare the methods of the clients with the operations of the API."""

from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType

import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain_client import AsyncChamberlain, Chamberlain, operations
from chamberlain_client.asynchronous.administration import AsyncEventStream, AsyncFeed
from chamberlain_client.operations import Operation
from chamberlain_client.synchronous.administration import EventStream, Feed

TABLE = {name: value for name, value in vars(operations).items() if isinstance(value, Operation)}

# Probes of the process and its landing page, which the SDK does not call.
NOT_CALLED = {"readHealth", "readLiveness", "readReadiness", "readService"}
# Operations of the directory, which the OpenAPI document does not describe.
OF_THE_DIRECTORY = {"findGroup"}
# Operations of two methods: list and export, list and find by metadata, preview and confirm.
TWICE = {"CREATE_ADOPTION", "CREATE_RELEASE", "LIST_AUDIT", "LIST_MANAGED_GROUPS"}

# Feeds send their operations themselves.
FEEDS = {AsyncChamberlain: (AsyncFeed, AsyncEventStream), Chamberlain: (Feed, EventStream)}


def test_it_works() -> None:
    described = {
        endpoint.about.id: (endpoint.method, endpoint.path)
        for endpoint in ENDPOINTS
        if endpoint.about.id not in NOT_CALLED
    }
    called = {each.id: (each.method, each.path) for each in TABLE.values() if each.id not in OF_THE_DIRECTORY}

    assert called == described


@pytest.mark.parametrize("client", [AsyncChamberlain, Chamberlain])
def test_it_has_one_method_for_each(client: type[AsyncChamberlain] | type[Chamberlain]) -> None:
    named = Counter(name for method in methods_of(client) for name in names_in(method.__code__) if name in TABLE)

    assert named == Counter({name: 2 if name in TWICE else 1 for name in TABLE})


def methods_of(client: type[AsyncChamberlain] | type[Chamberlain]) -> Iterator[FunctionType]:
    """List public methods of all nouns, and constructors, which pass operations to shared methods."""
    nouns = vars(client("http://127.0.0.1:1", "t", verify=False)).values()
    yield from (method for each in FEEDS[client] for method in vars(each).values() if isinstance(method, FunctionType))
    for noun in nouns:
        yield from (
            method
            for name, method in vars(type(noun)).items()
            if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_"))
        )


def names_in(code: CodeType) -> set[str]:
    return set(code.co_names)
