# SPDX-License-Identifier: Apache-2.0
"""LDIF files: entries, people and faults."""

import base64
from uuid import UUID

import pytest

from chamberlain.people.import_.ldif import read_ldif
from chamberlain.people.import_.rows import ENTERPRISE, read_entries

pytestmark = pytest.mark.pure

EVE = """\
# An export, with a comment
#  that is folded
version: 1

dn: uid=eve, ou=People,
 dc=house,dc=example
changetype: add
objectClass: top
objectClass: inetOrgPerson
uid: eve
mail: eve@house.example
cn:: RXZlIMOYa3Jv
givenName;lang-en: Eve
sn: Økro
title: Head of
  design
departmentNumber: Design
manager: uid=ada,ou=people,dc=house,dc=example

dn: uid=ada,ou=People,dc=house,dc=example
objectClass: person
userPrincipalName: ada@house.example
nsAccountLock: TRUE

dn: ou=People,dc=house,dc=example
objectClass: organizationalUnit
"""


def test_it_works() -> None:
    entries, faults = read_ldif(EVE.encode())
    people, more = read_entries(entries, faults)

    assert (faults, more, people.others) == ([], [], 1)
    eve, ada = people.rows
    assert (eve.line, eve.name, eve.manager) == (5, "eve@house.example", "ada@house.example")
    assert eve.body == {
        "userName": "eve@house.example",
        "displayName": "Eve Økro",
        "name": {"givenName": "Eve", "familyName": "Økro"},
        "title": "Head of design",
        "emails": [{"type": "work", "value": "eve@house.example"}],
        ENTERPRISE: {"department": "Design"},
    }
    assert ada.body == {"userName": "ada@house.example", "active": False}


def test_it_works_with_line_ends_of_windows_and_a_byte_order_mark() -> None:
    unix, _ = read_ldif(EVE.encode())
    windows, faults = read_ldif(b"\xef\xbb\xbf" + EVE.replace("\n", "\r\n").encode())

    assert (windows, faults) == (unix, [])


def test_the_binary_id_of_active_directory_is_the_external_id() -> None:
    guid = UUID("7e9d6a52-1f0e-4a3c-9f53-0d5a1c2b3e4f")
    text = (
        "dn: cn=Eve\nobjectClass: user\nuserPrincipalName: eve@house.example\nuserAccountControl: 514\n"
        f"objectGUID:: {base64.b64encode(guid.bytes_le).decode()}\n"
    )

    people, faults = read_entries(*read_ldif(text.encode()))

    assert faults == []
    assert people.rows[0].body == {"userName": "eve@house.example", "externalId": str(guid), "active": False}


PERSON = "dn: uid=eve\nobjectClass: person\nmail: eve@house.example\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("mail: eve@house.example\n", 1),
        ("version: 2\n" + PERSON, 1),
        (PERSON + "changetype: modify\n", 4),
        (PERSON + "changetype: delete\n", 4),
        (PERSON + "control: 1.2.3\n", 4),
        (PERSON + "jpegPhoto:< file:///tmp/photo\n", 4),
        (PERSON + "cn:: ###\n", 4),
        (PERSON + "no colon\n", 4),
        (PERSON + "cn:: /w==\n", 1),
        (PERSON + "manager: uid=unknown\n", 1),
        (PERSON + "\n" + PERSON, 5),
        (PERSON + "title: " + "x" * 1025 + "\n", 1),
        ("dn: uid=eve\nobjectClass: person\n", 1),
        ("dn: ou=People\nobjectClass: organizationalUnit\n", 1),
        ("dn: uid=eve\nobjectClass: person\nmail: eve\x00@house.example\n", 1),
    ],
)
def test_a_fault_has_its_line(text: str, line: int) -> None:
    _, faults = read_entries(*read_ldif(text.encode()))

    assert {fault.line for fault in faults} == {line}


@pytest.mark.parametrize(("control", "is_active"), [("514", False), ("512", True), ("²", None), ("9" * 5000, None)])
def test_the_control_of_an_account_is_a_number(control: str, *, is_active: bool | None) -> None:
    entries, _ = read_ldif(f"dn: uid=eve\nobjectClass: user\nuid: eve\nuserAccountControl: {control}\n".encode())

    people, faults = read_entries(entries, ())

    assert not faults
    assert people.rows[0].body.get("active") is is_active


def test_a_line_that_is_folded_very_often_is_read_once() -> None:
    [entry], _ = read_ldif(b"dn: uid=eve\ncn: " + b"\n x" * 300_000)

    assert entry.values["cn"] == [b"x" * 300_000]
