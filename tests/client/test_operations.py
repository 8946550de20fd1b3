"""Every operation of the product's API has a method, and every method an operation."""

from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType

import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain_client import AsyncChamberlain, Chamberlain, operations
from chamberlain_client.operations import Operation

TABLE = {name: value for name, value in vars(operations).items() if isinstance(value, Operation)}

# What the product's document describes and the SDK does not call: who watches over the process asks that, not a caller.
NOT_CALLED = {"readLiveness", "readReadiness"}
# What is called and stands in no document of the product: the directory is another one's.
OF_THE_DIRECTORY = {"findGroup"}
# The audit trail is read in pages and as lines; events up to now, and without end. Adoptions are shown and confirmed.
TWICE = {"CREATE_ADOPTION", "LIST_AUDIT", "LIST_EVENTS"}


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
    """The public methods of all nouns, and what gives operations to those that several nouns have in common."""
    nouns = vars(client("http://127.0.0.1:1", "t", verify=False)).values()
    for noun in nouns:
        yield from (
            method
            for name, method in vars(type(noun)).items()
            if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_"))
        )


def names_in(code: CodeType) -> set[str]:
    return set(code.co_names)
