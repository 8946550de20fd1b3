# SPDX-License-Identifier: Apache-2.0
"""Records of tenants that are not served for a while."""

import pytest

from chamberlain.changes.models import Change, Subject
from chamberlain.tenants.models import resumed, suspended, tenant_unknown
from tests.auth.editor_values import EDITOR, TRACE
from tests.groups.group_values import TENANT
from tests.mailboxes.mailbox_values import HOUSE

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("change", "action", "before", "after"),
    [
        (suspended(HOUSE, EDITOR), "tenant.suspend", False, True),
        (resumed(HOUSE, EDITOR), "tenant.resume", True, False),
    ],
)
def test_it_works(change: Change, action: str, *, before: bool, after: bool) -> None:
    assert change == Change(
        tenant_id=TENANT,
        action=action,
        actor=EDITOR.actor,
        client_id=EDITOR.client_id,
        subject=Subject("tenant", TENANT, "Example Estate"),
        before={"suspended": before},
        after={"suspended": after},
        request_id=None,
        trace_id=TRACE,
        client_address="192.0.2.1",
    )


def test_a_tenant_that_is_not_there_is_not_found() -> None:
    assert tenant_unknown(TENANT).code == "notFound"
    assert str(TENANT) in tenant_unknown(TENANT).detail
