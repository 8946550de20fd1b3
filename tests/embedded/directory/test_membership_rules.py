# SPDX-License-Identifier: Apache-2.0
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.core.membership_rules import (
    Comparison,
    Operator,
    Property,
    Rule,
    RuleInvalid,
    find_property,
    read_rule,
)
from chamberlain.embedded.directory.dynamic_groups import condition_of


def known(name: str, kind: str = "user") -> Property:
    found = find_property(f"{kind}.{name}")
    assert found is not None
    return found


SALES = Comparison(known("department"), Operator.EQUAL, "Sales")
BERN = Comparison(known("city"), Operator.EQUAL, "Bern")
MANAGER = Comparison(known("jobTitle"), Operator.EQUAL, "Manager")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('user.department -eq "Sales"', SALES),
        ("USER.Department -EQ 'Sales'", SALES),
        ('(user.department -eq "Sales")', SALES),
        ('user.department -ne "Sales"', Not(SALES)),
        ('-not user.department -eq "Sales"', Not(SALES)),
        ('-not (user.department -eq "Sales")', Not(SALES)),
        ('user.department -eq "a ""b"""', Comparison(known("department"), Operator.EQUAL, 'a "b"')),
        ("user.department -eq null", Comparison(known("department"), Operator.EQUAL, None)),
        ("user.accountEnabled -eq true", Comparison(known("accountEnabled"), Operator.EQUAL, value=True)),
        ('user.mail -startsWith "a"', Comparison(known("mail"), Operator.STARTS_WITH, "a")),
        ('user.mail -notContains "a"', Not(Comparison(known("mail"), Operator.CONTAINS, "a"))),
        ('user.city -in ["Bern", "Basel"]', Comparison(known("city"), Operator.IN, ("Bern", "Basel"))),
        ('user.city -notIn ["Bern"]', Not(Comparison(known("city"), Operator.IN, ("Bern",)))),
        ('device.deviceOSType -eq "Linux"', Comparison(known("deviceOSType", "device"), Operator.EQUAL, "Linux")),
        ("DEVICE.isrooted -ne true", Not(Comparison(known("isRooted", "device"), Operator.EQUAL, value=True))),
        ('user.city -match "^B(e|a)"', Comparison(known("city"), Operator.MATCH, "^B(?:e|a)")),
        (
            'user.department -eq "Sales" -or user.city -eq "Bern" -and user.jobTitle -eq "Manager"',
            AnyOf((SALES, AllOf((BERN, MANAGER)))),
        ),
        (
            '(user.department -eq "Sales" -or user.city -eq "Bern") -and user.jobTitle -eq "Manager"',
            AllOf((AnyOf((SALES, BERN)), MANAGER)),
        ),
    ],
)
def test_it_works(text: str, expected: Rule) -> None:
    assert read_rule(text) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 1),
        ("department", 1),
        ("user.department", 16),
        ("user.department -eq", 20),
        ("user.department -eq Sales", 21),
        ("user.department eq 'Sales'", 17),
        ('user.department -like "Sales"', 17),
        ('user.department -eq "Sales', 21),
        ('user.department -eq "Sales" user.city -eq "Bern"', 29),
        ('(user.department -eq "Sales"', 29),
        ('user.department -eq "Sales")', 28),
        ('user.department -in "Sales"', 21),
        ("user.department -in []", 22),
        ('user.department -in ["Sales"', 29),
        ('user.shoeSize -eq "42"', 1),
        ('device.department -eq "Sales"', 1),
        ('user.deviceModel -eq "x"', 1),
        ('group.displayName -eq "x"', 1),
        ('user.city -eq "Bern" -or device.displayName -eq "x"', 26),
        ("device.isRooted -eq 'true'", 21),
        ('user.accountEnabled -eq "true"', 25),
        ("user.accountEnabled -startsWith true", 33),
        ("user.department -startsWith null", 29),
        ('user.department -match "(a"', 24),
        ('user.department -match "a{9}"', 24),
        ("(" * 40 + 'user.department -eq "Sales"' + ")" * 40, 34),
        (f'user.department -eq "{"x" * 4000}"', 3073),
    ],
)
def test_it_rejects_with_the_position(text: str, position: int) -> None:
    with pytest.raises(RuleInvalid) as rejected:
        read_rule(text)

    assert rejected.value.position == position
    assert f"character {position}:" in rejected.value.detail


@given(st.text(max_size=20).map(lambda text: f"§{text}"))
def test_all_values_are_parameters(text: str) -> None:
    quoted = '"' + text.replace('"', '""') + '"'
    parameters: list[object] = []

    condition = condition_of(
        read_rule(f"user.city -eq {quoted} -and user.city -in [{quoted}] -or user.mail -notContains {quoted}"),
        parameters,
    )

    assert "§" not in condition
    assert parameters == [text, [text], text]


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_it_parses_or_rejects_any_text(text: str) -> None:
    with contextlib.suppress(RuleInvalid):
        condition_of(read_rule(text), [])
