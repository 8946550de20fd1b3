# SPDX-License-Identifier: Apache-2.0
"""The page of Microsoft 365 names every setting and permission, and no other."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from chamberlain.directory.microsoft365.operations import OPERATIONS
from chamberlain.directory.microsoft365.settings import LOGINS, SettingsFile
from tests.docs.pages import REFERENCE, ROOT, rows, section

pytestmark = pytest.mark.pure

PAGE = REFERENCE / "microsoft365.md"
SCHEMA = msgspec.json.schema(SettingsFile)
UNCONFIRMED = "**No tenant has confirmed this adapter yet.**"


def settings() -> Iterator[str]:
    for name, node in resolved(SCHEMA)["properties"].items():
        inside = resolved(node).get("properties")
        yield from (f"{name}.{key}" for key in inside) if inside else (name,)


def resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow the reference of a schema, also of an optional one."""
    named = next((each for each in (node, *node.get("anyOf", ())) if "$ref" in each), None)
    return node if named is None else SCHEMA["$defs"][named["$ref"].rpartition("/")[2]]


def names(heading: str, pattern: str) -> list[str]:
    return [name for row in rows(section(PAGE, heading)) for name in re.findall(pattern, row[0])]


@pytest.mark.parametrize("page", ["reference/microsoft365.md", "how-to/microsoft365.md"])
def test_the_first_lines_say_what_is_not_confirmed(page: str) -> None:
    title, first, *_ = (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n\n")

    assert title.startswith("# ")
    assert first.startswith(UNCONFIRMED)
    assert "Not confirmed are" in first
    assert "#not-confirmed-yet)" in first


def test_it_names_every_setting() -> None:
    assert sorted(names("## Settings", r"`([a-z_.]+)`")) == sorted(settings())


def test_it_names_every_cloud() -> None:
    hosts = [name for row in rows(section(PAGE, "## The connection")) for name in re.findall(r"`([a-z.-]+)`", row[-1])]

    assert {each for each in hosts if "." in each} == {*LOGINS}


def test_it_names_every_permission() -> None:
    # The permission for groups includes that for channels.
    in_use = {each.permission for each in OPERATIONS} - {"Channel.Create"}

    assert set(names("## Permissions", r"`(\w+(?:\.\w+)+)`")) == in_use
