# SPDX-License-Identifier: Apache-2.0
"""The page of the embedded directory and what the directory answers to say the same."""

import re

import yaml

from chamberlain.core.membership_rules import KNOWN, OPPOSITES, Kind, Operator
from chamberlain.directory.embedded.subjects import _CAPABILITIES
from chamberlain.embedded.directory.estate import GuestSettings, read_estate
from chamberlain.embedded.directory.graph.filters import GROUPS, ROOMS, USERS
from chamberlain.embedded.directory.graph.groups import GROUP_LISTING
from chamberlain.embedded.directory.graph.routes import READS, ROUTES, find_route
from chamberlain.embedded.directory.graph.users import USER_LISTING
from tests.docs.pages import REFERENCE, rows, section

PAGE = REFERENCE / "directory.md"
EXAMPLE_ID = "94000000-0000-4000-8000-000000000001"


def test_it_works_for_every_path_and_its_permissions() -> None:
    table = rows(section(PAGE, "## Paths"))
    calls = [row[0].strip("`").replace("{id}", EXAMPLE_ID).split() for row in table]
    permissions = [frozenset(re.findall(r"`([^`]+)`", row[1])) for row in table]

    first = [find_route(method, path, is_writable=False)[0] for method, path in calls]

    assert first == list(READS)
    assert permissions == [route.sufficient or frozenset() for route in READS]


def test_it_works_for_every_write_and_its_permissions() -> None:
    table = [row for row in rows(section(PAGE, "## Writes")) if len(row) > 2]
    calls = [row[0].strip("`").replace("{id}", EXAMPLE_ID).split() for row in table]
    permissions = [frozenset(re.findall(r"`([A-Z][^`]+\.[^`]+)`", row[1])) for row in table]

    first = [find_route(method, path, is_writable=True)[0] for method, path in calls]

    assert first == [route for route in ROUTES if route.is_write]
    assert permissions == [route.sufficient for route in first]


def test_it_names_what_filters_can_use() -> None:
    table = {row[0]: set(re.findall(r"`(\w+)`", row[1])) for row in rows(section(PAGE, "## Filters"))}

    assert table == {"groups": set(GROUPS.columns), "users": set(USERS.columns), "rooms": set(ROOMS.columns)}


def test_it_names_what_lists_can_be_sorted_by() -> None:
    table = {row[0]: set(re.findall(r"`(\w+)`", row[1])) for row in rows(section(PAGE, "## Pages, order and numbers"))}

    assert {kind: table[kind] for kind in ("groups", "users")} == {
        "groups": set(GROUP_LISTING.keys),
        "users": set(USER_LISTING.keys),
    }


def test_it_names_what_membership_rules_can_use() -> None:
    table = {row[0]: row[1:] for row in rows(section(PAGE, "## Membership rules"))}

    for kind in Kind:
        written = re.findall(r"`(\w+)`", table[f"`{kind}.`"][0])
        assert written == sorted(name.partition(".")[2] for name in KNOWN if name.startswith(f"{kind}."))
    for operator in Operator:
        [(opposite, _)] = [cells for first, cells in table.items() if first.strip("`").lower() == operator]
        assert OPPOSITES[opposite.strip("`").lower()] is operator


def test_it_translates_every_sharing_capability() -> None:
    table = rows(section(PAGE, "## Guest rules"))
    words = [[cell.strip("`") for cell in row] for row in table]

    assert [row for row in words if row[0] in set(_CAPABILITIES)] == [[*pair] for pair in _CAPABILITIES.items()]


def test_its_example_is_read_and_shows_the_defaults() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    estate = read_estate(yaml.safe_load(example)["directory"])

    assert estate.groups[0].guest_settings == GuestSettings()
    assert estate.guest_defaults[0].blocked_guest_domains == ("rival.example",)
