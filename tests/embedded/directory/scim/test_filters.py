# SPDX-License-Identifier: Apache-2.0
"""Filters of SCIM: parsing and evaluation."""

import pytest

from chamberlain.embedded.directory.scim.errors import ScimFault
from chamberlain.embedded.directory.scim.filters import Effort, equal_values, matches, read_filter
from chamberlain.embedded.directory.scim.schemas import ENTERPRISE, USERS, Json

pytestmark = pytest.mark.pure

ADA: Json = {
    "userName": "ada@house.example",
    "externalId": "Ada-1",
    "name": {"givenName": "Ada", "familyName": 'Achterberg "A"'},
    "active": True,
    "emails": [
        {"value": "ada@house.example", "type": "work", "primary": True},
        {"value": "ada@home.example", "type": "home"},
    ],
    "meta": {"lastModified": "2026-11-20T09:30:00.000Z"},
    ENTERPRISE: {"department": "Sales", "manager": {"value": "b1"}},
}


@pytest.mark.parametrize(
    ("written", "is_met"),
    [
        ('userName eq "ADA@house.example"', True),
        ('USERNAME Eq "ada@house.example"', True),
        ('urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ada"', True),
        ('userName ne "ada@house.example"', False),
        ('nickName ne "x"', True),
        ('nickName eq "x"', False),
        ("nickName eq null", True),
        ("nickName pr", False),
        ("name.givenName pr", True),
        ('externalId eq "ada-1"', False),
        ('name.familyName co "\\"a"', True),
        ('userName ew ".example"', True),
        ("active eq true", True),
        ("active ne True", False),
        ('emails co "home"', True),
        ('emails.type eq "home" and emails.value sw "ada@house"', True),
        ('emails[type eq "home" and value sw "ada@house"]', False),
        ('emails[type eq "work" and value sw "ada@house"]', True),
        ('emails[not (type eq "work")]', True),
        (f'{ENTERPRISE}:department eq "sales"', True),
        (f'{ENTERPRISE}:manager.value eq "b1"', True),
        (f'{ENTERPRISE}:manager eq "b1"', False),
        (f"{ENTERPRISE}:manager pr", True),
        ('meta.lastModified gt "2026-11-20T10:00:00+01:00"', True),
        ('meta.lastModified le "2026-11-20T09:30:00Z"', True),
        ('meta.lastModified lt "2026-11-20T09:30:00Z"', False),
        ('userName gt "ada" and userName lt "adb"', True),
        ('userName eq "x" or userName sw "ada" and active eq false', False),
        ('(userName eq "x" or userName sw "ada") and active eq true', True),
        ("not (active eq true) or not(nickName pr)", True),
        ("userName eq 1", False),
    ],
)
def test_it_works(written: str, *, is_met: bool) -> None:
    assert matches(read_filter(written, USERS), ADA) is is_met


@pytest.mark.parametrize(
    "written",
    [
        "",
        "userName",
        "userName eq",
        'userName is "x"',
        'hat eq "x"',
        'name.hat eq "x"',
        f'{ENTERPRISE} eq "x"',
        'userName eq "x',
        'userName eq "\\x"',
        'userName eq "\\u0000"',
        '(userName eq "x"',
        'userName eq "x")',
        'emails[type eq "work"',
        'emails[value eq "a" and emails[type eq "b"]]',
        'userName[value eq "x"]',
        "active gt true",
        "(" * 40 + "active eq true" + ")" * 40,
        'userName eq "' + "x" * 2048 + '"',
    ],
)
def test_a_filter_that_is_not_valid_is_refused(written: str) -> None:
    with pytest.raises(ScimFault) as refused:
        read_filter(written, USERS)

    assert (refused.value.status, refused.value.scim_type) == (400, "invalidFilter")


def test_equations_of_a_conjunction_narrow_the_search() -> None:
    both = read_filter('userName eq "ada" and active eq true and externalId eq "1"', USERS)
    either = read_filter('userName eq "ada" or externalId eq "1"', USERS)

    assert dict(equal_values(both)) == {"username": "ada", "externalid": "1"}
    assert not equal_values(either)


def test_a_filter_counts_the_values_that_it_compares() -> None:
    effort = Effort(10)

    assert not matches(read_filter('userName eq "x" or emails[value eq "x" or type eq "x"]', USERS), ADA, effort)
    assert effort.spent == 10
    with pytest.raises(ScimFault) as refused:
        matches(read_filter("userName pr", USERS), ADA, effort)
    assert (refused.value.status, refused.value.scim_type) == (400, "tooMany")
