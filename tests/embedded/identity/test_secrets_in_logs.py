"""What a log or a traceback may show of a value is its repr."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from importlib import import_module
from typing import Any

from chamberlain.embedded import identity

SECRET = re.compile("secret|token|password|hash|digest|key|code")
# What it is made of is the secret; this travels in the address of a page.
KNOWN_TO_ALL = {"code_challenge"}


def fields_of_all() -> Iterator[tuple[type, Field[Any]]]:  # Any: a field of whatever type.
    for module in pkgutil.iter_modules(identity.__path__, f"{identity.__name__}."):
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and is_dataclass(kind):
                yield from ((kind, field) for field in fields(kind))


def test_it_works() -> None:
    texts = [(kind, each) for kind, each in fields_of_all() if each.type in (str, str | None, bytes)]
    secret = [(kind, each) for kind, each in texts if SECRET.search(each.name) and each.name not in KNOWN_TO_ALL]

    shown = [f"{kind.__name__}.{each.name}" for kind, each in secret if each.repr]

    assert len(secret) > 8
    # The digest of what is counted, which everybody can work out.
    assert shown == ["Subject.digest"]
