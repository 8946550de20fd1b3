# SPDX-License-Identifier: Apache-2.0
"""Deleted entries as the access log of slapd has them."""

from uuid import UUID

import pytest

from chamberlain.directory.opensuite.changes import parse_deletion
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, id_in, marks_of
from chamberlain.directory.opensuite.ldap import Row

pytestmark = pytest.mark.pure

ID, REQUEST = UUID(int=1), UUID("5e000000-0000-4000-8000-000000000001")


def test_it_works() -> None:
    row = Row(
        "reqStart=20261127050000.000001Z,cn=accesslog",
        {
            "reqDN": [b"uid=desk,ou=mailboxes,dc=estate,dc=example"],
            "reqEntryUUID": [str(ID).encode()],
            "reqOld": [
                f"{REQUEST_ID}: {REQUEST}".encode(),
                f"{MARK}: extension=chamberlain_mailbox".encode(),
                b"description: one: two",
                "displayName: Empfang für \xff".encode("latin-1"),
            ],
        },
        (),
    )

    entry = parse_deletion(row)

    assert entry is not None
    assert (entry.id, entry.dn) == (ID, "uid=desk,ou=mailboxes,dc=estate,dc=example")
    assert entry.one("description") == "one: two"
    assert id_in(marks_of(entry, "chamberlain_mailbox"), "requestId") == REQUEST
    assert marks_of(entry, "other_mailbox") == {}


@pytest.mark.parametrize("values", [{}, {"reqOld": [b"uid: desk"]}, {"reqEntryUUID": []}])
def test_a_deletion_without_an_id_is_skipped(values: dict[str, list[bytes]]) -> None:
    assert parse_deletion(Row("reqStart=1,cn=accesslog", values, ())) is None
