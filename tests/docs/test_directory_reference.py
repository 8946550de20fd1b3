"""The page of the embedded directory and what the directory answers to say the same."""

import re

from chamberlain.embedded.directory.graph.conditions import GROUPS, ROOMS, USERS
from chamberlain.embedded.directory.graph.server import _ROUTES
from tests.docs.pages import REFERENCE, rows, section

PAGE = REFERENCE / "directory.md"
EXAMPLE_ID = "94000000-0000-4000-8000-000000000001"


def test_it_works_for_every_path_and_its_permissions() -> None:
    table = rows(section(PAGE, "## Paths"))
    paths = [row[0].strip("`").removeprefix("GET ").replace("{id}", EXAMPLE_ID) for row in table]
    permissions = [frozenset(re.findall(r"`([^`]+)`", row[1])) or None for row in table]

    first = [next(route for route in _ROUTES if route.path.fullmatch(path)) for path in paths]

    assert first == list(_ROUTES)
    assert permissions == [route.sufficient for route in _ROUTES]


def test_it_names_what_filters_can_use() -> None:
    table = {row[0]: set(re.findall(r"`(\w+)`", row[1])) for row in rows(section(PAGE, "## Filters"))}

    assert table == {"groups": set(GROUPS.columns), "users": set(USERS.columns), "rooms": set(ROOMS.columns)}
