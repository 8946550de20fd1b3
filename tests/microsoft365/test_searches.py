# SPDX-License-Identifier: Apache-2.0
"""Filters of groups and users as `$filter` of Graph."""

import pytest

from chamberlain.core.directory_filters import Equals, Filter, HasAddress, HasType, Path, StartsWith
from chamberlain.core.errors import Rejected
from chamberlain.core.expressions import AllOf, AnyOf, Not
from chamberlain.directory.microsoft365.searches import Condition, Translated, extensions_in, translate
from tests.directory.sample_directory import ADA, BEN

pytestmark = pytest.mark.pure

MARK = Path("chamberlain_group", "requestId")
UNKNOWN = Path("other_group", "requestId")
MAIL, ID, NAME, TYPE = (Path(None, each) for each in ("mail", "id", "displayName", "userType"))
BEGINS = Condition("startswith(mail,'c')")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Equals(MARK, ("r",)), Condition("chamberlain_group/requestId eq 'r'")),
        (
            Equals(MARK, ("r", "s")),
            Condition("(chamberlain_group/requestId eq 'r') or (chamberlain_group/requestId eq 's')"),
        ),
        (Equals(MARK, (None,)), Condition("chamberlain_group/requestId eq null", is_advanced=True)),
        (Equals(UNKNOWN, ("r",)), False),
        (Equals(UNKNOWN, (None, "r")), True),
        (Equals(NAME, ("D'Arcy",)), Condition("displayName eq 'D''Arcy'")),
        (Equals(NAME, ("", " ")), False),
        (Equals(NAME, (None,)), False),
        (Equals(MAIL, ("a", "b")), Condition("mail in ('a','b')")),
        (Equals(MAIL, ("a", None)), Condition("(mail eq 'a') or (mail eq null)", is_advanced=True)),
        (Equals(ID, ("no-id",)), False),
        (Equals(ID, (str(ADA), "no-id", str(BEN))), Condition(f"id in ('{ADA}','{BEN}')")),
        (HasType("Unified"), Condition("groupTypes/any(c:c eq 'Unified')")),
        (HasAddress("smtp:a"), Condition("proxyAddresses/any(c:c eq 'smtp:a')")),
        (StartsWith(MAIL, "c"), BEGINS),
        (StartsWith(MAIL, ""), Condition("not (mail eq null)", is_advanced=True)),
        (StartsWith(NAME, ""), True),
        (StartsWith(TYPE, "GU"), Condition("userType eq 'Guest'")),
        (StartsWith(TYPE, "x"), False),
        (Not(Equals(MAIL, ("a",))), Condition("not (mail eq 'a')", is_advanced=True)),
        (Not(Equals(UNKNOWN, ("r",))), True),
        (AllOf((StartsWith(NAME, ""), StartsWith(MAIL, "c"))), BEGINS),
        (AllOf((StartsWith(MAIL, "c"), Equals(ID, ("no-id",)))), False),
        (AnyOf((StartsWith(MAIL, "c"), Equals(ID, ("no-id",)))), BEGINS),
        (AnyOf((StartsWith(MAIL, "c"), StartsWith(NAME, ""))), True),
    ],
)
def test_it_translates(wanted: Filter, expected: Translated) -> None:
    assert translate(wanted, {"chamberlain_group"}) == expected


@pytest.mark.parametrize("path", [MARK, ID])
def test_graph_does_not_compare_the_beginning_of_marks_and_ids(path: Path) -> None:
    with pytest.raises(Rejected) as rejected:
        translate(StartsWith(path, "a"), {"chamberlain_group"})

    assert rejected.value.code == "filterNotSupported"


def test_it_finds_the_extensions_of_a_filter() -> None:
    wanted: Filter = AllOf((Not(Equals(MARK, ("r",))), AnyOf((StartsWith(UNKNOWN, "r"), Equals(NAME, ("a",))))))

    assert list(extensions_in(wanted)) == ["chamberlain_group", "other_group"]
