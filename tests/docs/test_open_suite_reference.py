# SPDX-License-Identifier: Apache-2.0
"""The page of open suites names every setting, and no other."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from chamberlain.directory.opensuite.settings import SettingsFile
from tests.docs.pages import REFERENCE, rows, section

pytestmark = pytest.mark.pure

PAGE = REFERENCE / "open-suite.md"
SCHEMA = msgspec.json.schema(SettingsFile)


def settings() -> Iterator[str]:
    for name, node in resolved(SCHEMA)["properties"].items():
        inside = resolved(node).get("properties")
        yield from (f"{name}.{key}" for key in inside) if inside else (name,)


def resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow the reference of a schema, also of an optional one."""
    named = next((each for each in (node, *node.get("anyOf", ())) if "$ref" in each), None)
    return node if named is None else SCHEMA["$defs"][named["$ref"].rpartition("/")[2]]


def test_it_names_every_setting() -> None:
    named = [name for row in rows(section(PAGE, "## Settings")) for name in re.findall(r"`([a-z_.]+)`", row[0])]

    assert sorted(named) == sorted(settings())


def test_its_codes_are_those_of_the_errors() -> None:
    errors = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    codes = re.findall(r"`((?:suite|server)[A-Z]\w+)`", PAGE.read_text(encoding="utf-8"))

    assert len(codes) == 5
    assert [code for code in codes if f"| `{code}` |" not in errors] == []
