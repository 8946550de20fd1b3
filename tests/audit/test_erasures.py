# SPDX-License-Identifier: Apache-2.0
"""Names beside an id are erased anywhere in a document, and nothing else is."""

from uuid import UUID

import pytest

from chamberlain.audit.erasure import Erasure, erased, without_names
from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Subject
from chamberlain.core.ids import UserId
from chamberlain.core.values import Json
from tests.auth.editor_values import TRACE
from tests.groups.group_values import TENANT

pytestmark = pytest.mark.pure

BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
ADA = "ada00000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("document", "after"),
    [
        ({"id": str(BEN), "displayName": "Ben"}, {"id": str(BEN), "displayName": ""}),
        ({"id": str(BEN).upper(), "display_name": "Ben"}, {"id": str(BEN).upper(), "display_name": ""}),
        ({"id": str(BEN), "mail": "ben@estate.example"}, {"id": str(BEN), "mail": None}),
        ({"id": ADA, "displayName": "Ada"}, {"id": ADA, "displayName": "Ada"}),
        (
            {"type": "user", "by": {"id": str(BEN), "displayName": "Ben"}, "displayName": "A group"},
            {"type": "user", "by": {"id": str(BEN), "displayName": ""}, "displayName": "A group"},
        ),
        (
            [{"id": ADA, "displayName": "Ada"}, {"approvers": [{"id": str(BEN), "displayName": "Ben"}]}],
            [{"id": ADA, "displayName": "Ada"}, {"approvers": [{"id": str(BEN), "displayName": ""}]}],
        ),
        ({"owners": [str(BEN)], "number": 1.5, "none": None}, {"owners": [str(BEN)], "number": 1.5, "none": None}),
        ({"id": None, "displayName": "Nobody"}, {"id": None, "displayName": "Nobody"}),
        ("Ben", "Ben"),
        (None, None),
    ],
)
def test_it_works(document: Json, after: Json) -> None:
    assert without_names(document, BEN) == after
    assert without_names(after, BEN) == after


def test_the_record_says_how_many_rows_were_emptied() -> None:
    erasure = Erasure(
        tenant_id=TENANT,
        audit_rows=1,
        sequences="sha256:00",
        requests=2,
        bodies=4,
        bodies_left=8,
        mailboxes=16,
        events=32,
        others=64,
    )

    assert erasure.rows == 1 + 2 + 4 + 16 + 32 + 64
    assert erased(erasure, BEN, actor=SERVICE, trace_id=TRACE) == Change(
        tenant_id=TENANT,
        action="user.erase",
        actor=SERVICE,
        client_id=None,
        subject=Subject("user", BEN, ""),
        before=None,
        after={
            "auditRows": 1,
            "auditSequences": "sha256:00",
            "requests": 2,
            "bodies": 4,
            "bodiesLeft": 8,
            "mailboxes": 16,
            "events": 32,
            "others": 64,
        },
        request_id=None,
        trace_id=TRACE,
    )
