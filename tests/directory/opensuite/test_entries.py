# SPDX-License-Identifier: Apache-2.0
"""Filters, names and rows of LDAP."""

from uuid import UUID

import pytest

from chamberlain.directory.opensuite.entries import BATCH, batched, parse_row
from chamberlain.directory.opensuite.entry import Entry, differences, escaped_name, is_below, normalized_dn, split_dn
from chamberlain.directory.opensuite.filters import all_of, any_of, any_value, equal, escaped, none_of
from chamberlain.directory.opensuite.ldap import Row

pytestmark = pytest.mark.pure

ID = UUID("ada00000-0000-4000-8000-000000000001")


def test_it_works() -> None:
    row = Row(
        "uid=ada,ou=people,dc=estate,dc=example",
        {
            "entryUUID": [str(ID).encode()],
            "entryCSN": [b"20261127045512.123456Z#000000#000#000000"],
            "displayName": ["Adä".encode()],
            "mail": [b"ada@estate.example", b"a@estate.example"],
            "jpegPhoto": [b"\xff\xd8"],
            "chamberlainHidden": [b"TRUE"],
            "chamberlainQuota": [b"500"],
            "objectClass": [b"inetOrgPerson"],
        },
        (),
    )

    entry = parse_row(row)

    assert entry is not None
    assert (entry.id, entry.version) == (ID, "20261127045512.123456Z#000000#000#000000")
    assert (entry.one("DISPLAYNAME"), entry.one("sn")) == ("Adä", None)
    assert entry.all("mail") == ("ada@estate.example", "a@estate.example")
    assert (entry.flag("chamberlainHidden"), entry.number("chamberlainQuota")) == (True, 500)
    assert (entry.flag("sn"), entry.number("sn"), entry.all("jpegPhoto")) == (None, None, ())
    assert entry.is_of("INETORGPERSON")
    assert not entry.is_of("person")


def test_words_are_no_number() -> None:
    entry = Entry("uid=quay", ID, "1", {"roomcapacity": ("six",)})

    assert entry.number("roomCapacity") is None


def test_a_row_without_an_id_is_no_entry() -> None:
    assert parse_row(Row("uid=ada", {"mail": [b"ada@estate.example"]}, ())) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("plain", "plain"), ("a*b", r"a\2ab"), ("(x)", r"\28x\29"), ("\\", r"\5c"), ("\0", r"\00"), ("ü", "ü")],
)
def test_it_escapes_values_of_filters(value: str, expected: str) -> None:
    assert escaped(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("a,b+c", r"a\,b\+c"),
        ('"x" <y>; \\', r"\"x\" \<y\>\; \\"),
        ("#1", r"\#1"),
        (" a ", r"\ a\ "),
        (" ", r"\ "),
        ("a=b", r"a\=b"),
    ],
)
def test_it_escapes_values_of_names(value: str, expected: str) -> None:
    assert escaped_name(value) == expected


def test_it_joins_filters() -> None:
    assert equal("cn", "a(b") == r"(cn=a\28b)"
    assert any_value("cn", ["a"]) == "(cn=a)"
    assert any_value("cn", ["a", "b"]) == "(|(cn=a)(cn=b))"
    assert any_of() == "(|)"
    assert all_of() == "(&)"
    assert all_of("(a=1)", "(b=2)") == "(&(a=1)(b=2))"
    assert none_of("(a=1)", "(b=2)") == "(!(|(a=1)(b=2)))"


@pytest.mark.parametrize(
    ("dn", "expected"),
    [
        ("UID=Ada, OU=People,dc=Estate", "uid=ada,ou=people,dc=estate"),
        (r"cn=Lovelace\, Ada,dc=estate", r"cn=lovelace\, ada,dc=estate"),
        (r"cn=ends in a space\ ,dc=estate", r"cn=ends in a space\ ,dc=estate"),
        (r"cn=back\\,dc=estate", r"cn=back\\,dc=estate"),
        ("", ""),
    ],
)
def test_it_normalizes_names(dn: str, expected: str) -> None:
    assert normalized_dn(dn) == expected


def test_it_splits_names_at_unescaped_commas() -> None:
    assert split_dn(r"cn=a\,b,ou=c,dc=d") == [r"cn=a\,b", "ou=c", "dc=d"]


@pytest.mark.parametrize(
    ("dn", "base", "expected"),
    [
        ("uid=ada,ou=people,dc=e", "ou=people,dc=e", True),
        ("uid=ada,OU=People, dc=e", "ou=people,dc=e", True),
        ("ou=people,dc=e", "ou=people,dc=e", True),
        ("uid=ada,ou=more people,dc=e", "people,dc=e", False),
        ("uid=ada,ou=guests,dc=e", "ou=people,dc=e", False),
        ("uid=ada,dc=e", "", True),
    ],
)
def test_it_knows_branches(dn: str, base: str, *, expected: bool) -> None:
    assert is_below(dn, base) is expected


def test_it_finds_differing_attributes() -> None:
    ada, ben = "uid=ada,dc=e", "uid=ben,dc=e"
    entry = Entry("cn=g", ID, "1", {"owner": ("UID=Ada, dc=e",), "description": ("a=1, b",), "mail": ("g@e",)})

    assert differences(entry, {"owner": [ada], "mail": ["g@e"], "title": []}) == {}
    assert differences(entry, {"owner": [ada, ben]}) == {"owner": [ada, ben]}
    assert differences(entry, {"mail": []}) == {"mail": []}
    # Only names of entries are compared without regard to letter case.
    assert differences(entry, {"description": ["A=1, b"]}) == {"description": ["A=1, b"]}


def test_it_batches_without_duplicates() -> None:
    values = [str(number) for number in range(BATCH + 1)]

    assert [len(batch) for batch in batched([*values, "0"])] == [BATCH, 1]
    assert list(batched([])) == []
