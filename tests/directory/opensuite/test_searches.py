# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.core.directory_filters import Equals, HasAddress, HasType, Path, StartsWith
from chamberlain.core.errors import Rejected
from chamberlain.directory.opensuite.layout import Branch, Layout
from chamberlain.directory.opensuite.searches import (
    Searched,
    is_selective,
    search_filter,
    searched_groups,
    searched_mailboxes,
    searched_people,
)
from chamberlain.embedded.directory.graph.filters import Vocabulary, read_filter

BRANCH = Branch("dc=estate,dc=example", "(objectClass=*)")
LAYOUT = Layout(people=BRANCH, groups=BRANCH, mailboxes=BRANCH, aliases=("mailAlternateAddress",))
PEOPLE, GROUPS, MAILBOXES = searched_people(LAYOUT), searched_groups(LAYOUT), searched_mailboxes(LAYOUT)
NOTHING = "(!(objectClass=*))"
ID = "ada00000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("searched", "wanted", "expected"),
    [
        (PEOPLE, Equals(Path(None, "mail"), ("ada@estate.example",)), "(mail=ada@estate.example)"),
        (
            PEOPLE,
            Equals(Path(None, "displayName"), ("A*",)),
            r"(|(displayName=A\2a)(&(!(displayName=*))(cn=A\2a)))",
        ),
        (
            PEOPLE,
            StartsWith(Path(None, "displayName"), "Ada"),
            "(|(displayName=Ada*)(&(!(displayName=*))(cn=Ada*)))",
        ),
        (PEOPLE, StartsWith(Path(None, "mail"), ""), "(mail=*)"),
        # slapd compares no other characters with an address, so that a negation would match nothing.
        (PEOPLE, Equals(Path(None, "mail"), ("häfen@estate.example",)), NOTHING),
        (PEOPLE, Equals(Path(None, "mail"), (None,)), "(!(mail=*))"),
        (PEOPLE, Equals(Path(None, "mail"), ("a@b.example", None)), "(|(mail=a@b.example)(!(mail=*)))"),
        (PEOPLE, Equals(Path(None, "id"), (ID.upper(), "no-id")), f"(entryUUID={ID})"),
        (PEOPLE, Equals(Path(None, "mailNickname"), ("ada",)), "(|(uid=ada)(uid=ada@*))"),
        (PEOPLE, Equals(Path(None, "mailNickname"), ("ada@estate",)), NOTHING),
        (PEOPLE, Equals(Path(None, "userType"), ("guest",)), "(employeeType=Guest)"),
        (PEOPLE, StartsWith(Path(None, "userType"), "M"), "(!(employeeType=Guest))"),
        (MAILBOXES, Equals(Path(None, "userType"), ("Guest",)), NOTHING),
        (
            PEOPLE,
            HasAddress("SMTP:a@b.example"),
            "(|(mail=a@b.example)(chamberlainAddress=a@b.example)(mailAlternateAddress=a@b.example))",
        ),
        (PEOPLE, HasAddress("sip:a@b.example"), NOTHING),
        (GROUPS, HasType("Unified"), "(mail=*)"),
        (GROUPS, HasType("DynamicMembership"), "(objectClass=groupOfURLs)"),
        (GROUPS, HasType("Other"), NOTHING),
        (
            GROUPS,
            Equals(Path("estate_group", "requestId"), (ID,)),
            f"(&(chamberlainMark=extension=estate_group)(chamberlainRequestId={ID}))",
        ),
        (
            GROUPS,
            Equals(Path("estate_group", "templateId"), ("t1",)),
            "(&(chamberlainMark=extension=estate_group)(chamberlainMark=templateId=t1))",
        ),
    ],
)
def test_a_comparison_is_a_filter(
    searched: Searched, wanted: Equals | StartsWith | HasAddress | HasType, expected: str
) -> None:
    assert search_filter(wanted, searched) == expected


def test_expressions_are_nested_filters() -> None:
    wanted = read_filter(
        "mail eq 'a' or not (displayName ne 'b' and mail in ('c', 'd'))", Vocabulary(frozenset({"mail", "displayName"}))
    )

    named = "(|(displayName=b)(&(!(displayName=*))(cn=b)))"
    assert search_filter(wanted, PEOPLE) == f"(|(mail=a)(!(&(!{named})(|(mail=c)(mail=d)))))"


@pytest.mark.parametrize(
    "wanted",
    [
        StartsWith(Path(None, "id"), "ada"),
        StartsWith(Path("estate_group", "requestId"), "ada"),
        Equals(Path("estate_group", "templateId"), (None,)),
    ],
)
def test_other_comparisons_are_refused(wanted: Equals | StartsWith) -> None:
    with pytest.raises(Rejected) as refused:
        search_filter(wanted, GROUPS)

    assert refused.value.code == "filterNotSupported"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail eq 'a' or userPrincipalName eq 'a'", True),
        ("x_group/requestId eq 'a'", True),
        ("startswith(displayName,'a') and id eq 'a'", True),
        ("mail eq 'a' or displayName eq 'a'", False),
        ("mail ne 'a'", False),
        ("mail eq null", False),
    ],
)
def test_a_selective_filter_matches_few_entries(text: str, expected: bool) -> None:  # noqa: FBT001 - a table.
    vocabulary = Vocabulary(frozenset({"id", "mail", "displayName", "userPrincipalName"}))

    assert is_selective(read_filter(text, vocabulary)) is expected
