# SPDX-License-Identifier: Apache-2.0
"""The page of administration and the code say the same: properties with their types and bounds, and what is refused."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.validation import Reader
from chamberlain.guests.policies.schema import POLICY
from chamberlain.http.openapi import describe
from chamberlain.template_admin.documents import COLLAB_TEMPLATE
from chamberlain.tenants.schema import TENANT
from tests.docs.pages import REFERENCE, rows, section
from tests.docs.schemas import Json, bound_of, properties, type_of
from tests.http.http_fixture import HttpFixture

PAGE = REFERENCE / "administration.md"
GROUP, GUEST, POLICIES = "## Templates of groups and teams", "## Templates of guests", "## Guest policies"
TENANT_HEADING = "## The tenant"
DAYS: Json = {"afterDays": 1, "action": "notify"}
# The least of each, with everything that lies in another thing.
LEAST: Mapping[str, Json] = {
    GROUP: {
        "kind": "team",
        "name": "A",
        "audience": {},
        "naming": {},
        "approval": {"levels": [{"mode": "any", "approvers": [{"type": "manager"}]}]},
        "webhook": {"url": "https://hooks.example/"},
    },
    GUEST: {"kind": "guest", "name": "A", "guests": {"allowed": True}, "sharingCapability": "disabled"},
    POLICIES: {
        "name": "A",
        "expiry": DAYS,
        "review": {"everyDays": 2, "answerDays": 1, "confirmedBy": "owners", "action": "notify"},
        "inactivity": DAYS,
        "minimumOwners": {"count": 1},
    },
    TENANT_HEADING: {"name": "A", "administrators": {}, "repair": {}},
}
SCHEMAS = {GROUP: "GroupTemplateBody", GUEST: "GuestTemplateBody", POLICIES: "PolicyBody", TENANT_HEADING: "TenantBody"}
# Any: each reads something else.
READERS: Mapping[str, Reader[Any]] = {POLICIES: POLICY, TENANT_HEADING: TENANT}


@cache
def document() -> Json:
    """The OpenAPI document."""
    return describe(ENDPOINTS, HttpFixture().http())


@pytest.mark.parametrize("heading", SCHEMAS)
def test_it_works_for_every_property_with_its_type_and_bound(heading: str) -> None:
    told = {
        name: (type_of(document(), each), bound_of(document(), each))
        for name, each in properties(document(), SCHEMAS[heading])
    }

    assert {row[0].strip("`"): (row[1], row[2]) for row in settable(heading)} == told


def test_it_names_what_of_a_tenant_is_only_shown() -> None:
    body = {name for name, _ in properties(document(), "TenantBody")}
    shown = {name for name, _ in properties(document(), "Tenant") if "." not in name}

    assert {row[0].strip("`") for row in rows(section(PAGE, TENANT_HEADING)) if len(row) == 2} == (
        shown - body - {"id", "createdAt", "updatedAt"}
    )


@pytest.mark.parametrize("heading", SCHEMAS)
def test_it_says_what_cannot_be_left_out(heading: str) -> None:
    assert not is_refused(heading, LEAST[heading])

    for row in settable(heading):
        name = row[0].strip("`")
        assert is_refused(heading, without(LEAST[heading], name)) == (row[3] == "required"), name


def settable(heading: str) -> list[list[str]]:
    """The rows of what can be sent."""
    return [row for row in rows(section(PAGE, heading)) if len(row) > 2]


def without(body: Json, name: str) -> Json:
    """The body with null in place of one property, which may lie in another one."""
    first, _, rest = name.partition(".")
    return {**body, first: without(body[first], rest) if rest else None}


def is_refused(heading: str, body: Json) -> bool:
    try:
        READERS.get(heading, COLLAB_TEMPLATE).read_value(dict(body))
    except BodyInvalid:
        return True
    return False
