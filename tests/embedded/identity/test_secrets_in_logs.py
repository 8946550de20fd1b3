# SPDX-License-Identifier: Apache-2.0
"""Secrets must not appear in the repr of values, as logs and tracebacks show it."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from importlib import import_module
from typing import Any

from chamberlain.embedded import identity

SECRET = re.compile("secret|token|password|hash|digest|key|code")
# The verifier is secret; the challenge is in the URL of a page.
KNOWN_TO_ALL = {"code_challenge"}


def fields_of_all() -> Iterator[tuple[type, Field[Any]]]:  # Any: a field of any type.
    for module in pkgutil.iter_modules(identity.__path__, f"{identity.__name__}."):
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and is_dataclass(kind):
                yield from ((kind, field) for field in fields(kind))


def test_it_works() -> None:
    texts = [(kind, each) for kind, each in fields_of_all() if each.type in (str, str | None, bytes)]
    secret = [(kind, each) for kind, each in texts if SECRET.search(each.name) and each.name not in KNOWN_TO_ALL]

    shown = [f"{kind.__name__}.{each.name}" for kind, each in secret if each.repr]

    assert len(secret) > 8
    # The digest of an address, which is no secret.
    assert shown == ["Subject.digest"]
