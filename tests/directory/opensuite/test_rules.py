# SPDX-License-Identifier: Apache-2.0
"""Membership rules as LDAP filters."""

from dataclasses import replace

import pytest

from chamberlain.core.membership_rules import RuleInvalid
from chamberlain.directory.opensuite.layout import Branch, Layout
from chamberlain.directory.opensuite.rules import NOTHING, CannotFollow, fault_of, member_url, rule_filter

pytestmark = pytest.mark.pure

BASE = "dc=estate,dc=example"
PERSON = "(&(objectClass=inetOrgPerson)(!(objectClass=chamberlainMailbox)))"
LAYOUT = Layout(
    people=Branch(BASE, PERSON),
    groups=Branch(f"ou=groups,{BASE}", "(objectClass=groupOfNames)"),
    mailboxes=Branch(f"ou=mailboxes,{BASE}", "(objectClass=chamberlainMailbox)"),
)
ADA = "ada00000-0000-4000-8000-000000000001"


def test_it_works() -> None:
    rule = 'user.department -eq "Sales" -and -not (user.city -startsWith "Ber" -or user.jobTitle -contains "lead")'

    assert rule_filter(rule, LAYOUT) == "(&(departmentNumber=Sales)(!(|(l=Ber*)(title=*lead*))))"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('user.department -eq "Sales"', "(departmentNumber=Sales)"),
        ('user.department -ne "Sales"', "(!(departmentNumber=Sales))"),
        ('user.department -in ["Sales", "Finance"]', "(|(departmentNumber=Sales)(departmentNumber=Finance))"),
        ('user.department -in ["Sales"]', "(departmentNumber=Sales)"),
        ('user.department -notIn ["Sales"]', "(!(departmentNumber=Sales))"),
        ("user.department -eq null", "(!(departmentNumber=*))"),
        ("user.department -ne null", "(!(!(departmentNumber=*)))"),
        ('user.department -startsWith "S"', "(departmentNumber=S*)"),
        ('user.department -notContains "a"', "(!(departmentNumber=*a*))"),
        # No attribute has an empty value, and each value begins with the empty text.
        ('user.department -eq ""', NOTHING),
        ('user.department -in ["", " "]', NOTHING),
        ('user.department -startsWith ""', "(departmentNumber=*)"),
        # Characters of filters are escaped.
        ('user.department -eq "R*D (\\)"', r"(departmentNumber=R\2aD \28\5c\29)"),
        ('user.displayName -contains "*"', r"(displayName=*\2a*)"),
        # The type of a user is a filter.
        ('user.userType -eq "guest"', "(employeeType=Guest)"),
        ('user.userType -eq "Member"', "(!(employeeType=Guest))"),
        ('user.userType -in ["Member", "Guest"]', "(objectClass=*)"),
        ('user.userType -eq "Robot"', NOTHING),
        ('user.userType -startsWith "G"', "(employeeType=Guest)"),
        ('user.userType -contains "e"', "(objectClass=*)"),
        ("user.userType -eq null", NOTHING),
        ("user.accountEnabled -eq true", "(!(pwdAccountLockedTime=*))"),
        ("user.accountEnabled -eq false", "(pwdAccountLockedTime=*)"),
        ("user.accountEnabled -eq null", NOTHING),
        (f'user.objectId -eq "{ADA.upper()}"', f"(entryUUID={ADA})"),
        (f'user.objectId -in ["{ADA}", "no id"]', f"(entryUUID={ADA})"),
        ('user.objectId -eq "no id"', NOTHING),
        # slapd would answer "undefined", and not true, to the negation.
        ('user.mail -ne "ä@estate.example"', f"(!{NOTHING})"),
    ],
)
def test_it_translates_comparisons(rule: str, expected: str) -> None:
    assert rule_filter(rule, LAYOUT) == expected


@pytest.mark.parametrize(
    "rule",
    [
        'user.department -match "^S"',
        'user.department -notMatch "^S"',
        'device.deviceModel -eq "X"',
        'user.country -eq "CH"',
        'user.objectId -startsWith "ada"',
        'user.department -eq "Sales" -or user.usageLocation -eq "CH"',
    ],
)
def test_it_names_what_cannot_be_followed(rule: str) -> None:
    with pytest.raises(CannotFollow):
        rule_filter(rule, LAYOUT)

    assert (fault_of(rule, LAYOUT) or "").startswith("The membership rule cannot be followed by this directory: ")


def test_it_rejects_an_invalid_rule() -> None:
    with pytest.raises(RuleInvalid):
        rule_filter("user.department is Sales", LAYOUT)

    assert "not understood at character" in (fault_of("user.department is Sales", LAYOUT) or "")
    assert fault_of('user.department -eq "Sales"', LAYOUT) is None


def test_settings_name_the_attributes() -> None:
    layout = replace(LAYOUT, person={"department": "ou"}, guests="(ou=guests)", disabled=("nsAccountLock", "true"))

    assert rule_filter('user.department -eq "Sales"', layout) == "(ou=Sales)"
    assert rule_filter('user.userType -eq "Guest"', layout) == "(ou=guests)"
    assert rule_filter("user.accountEnabled -eq false", layout) == "(nsAccountLock=*)"
    assert fault_of('user.city -eq "Berne"', layout) is not None


def test_the_url_selects_people_only() -> None:
    url = member_url('user.department -eq "R?D 100%"', LAYOUT)

    assert url == f"ldap:///{BASE}??sub?(&{PERSON}(departmentNumber=R%3FD%20100%25))"
