"""The page of administration and the code say the same: properties with their types and bounds, and what is refused."""

from collections.abc import Mapping
from functools import cache

import pytest

from chamberlain.api.app import ENDPOINTS
from chamberlain.api.openapi import describe
from chamberlain.rules.errors import BodyInvalid
from chamberlain.shapes.policies import POLICY
from chamberlain.shapes.templates import COLLAB_TEMPLATE
from tests.api.house import House
from tests.docs.pages import REFERENCE, rows, section
from tests.docs.schemas import Json, bound_of, properties, type_of

PAGE = REFERENCE / "administration.md"
GROUP, GUEST, POLICIES = "## Templates of groups and teams", "## Templates of guests", "## Guest policies"
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
}
SCHEMAS = {GROUP: "GroupTemplateBody", GUEST: "GuestTemplateBody", POLICIES: "PolicyBody"}


@cache
def document() -> Json:
    """The OpenAPI document."""
    return describe(ENDPOINTS, House().services())


@pytest.mark.parametrize("heading", SCHEMAS)
def test_it_works_for_every_property_with_its_type_and_bound(heading: str) -> None:
    told = {
        name: (type_of(document(), each), bound_of(document(), each))
        for name, each in properties(document(), SCHEMAS[heading])
    }

    assert {row[0].strip("`"): (row[1], row[2]) for row in rows(section(PAGE, heading))} == told


@pytest.mark.parametrize("heading", SCHEMAS)
def test_it_says_what_cannot_be_left_out(heading: str) -> None:
    assert not is_refused(heading, LEAST[heading])

    for row in rows(section(PAGE, heading)):
        name = row[0].strip("`")
        assert is_refused(heading, without(LEAST[heading], name)) == (row[3] == "refused"), name


def without(body: Json, name: str) -> Json:
    """The body with null in place of one property, which may lie in another one."""
    first, _, rest = name.partition(".")
    return {**body, first: without(body[first], rest) if rest else None}


def is_refused(heading: str, body: Json) -> bool:
    try:
        (POLICY if heading == POLICIES else COLLAB_TEMPLATE).read_value(dict(body))
    except BodyInvalid:
        return True
    return False
