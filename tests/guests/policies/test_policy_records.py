# SPDX-License-Identifier: Apache-2.0
"""Records of what is changed of a policy."""

from dataclasses import replace

import pytest

from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Content, Subject
from chamberlain.core.errors import NotFound
from chamberlain.guests.policies.models import (
    PolicyHead,
    PolicyRecord,
    StoredPolicy,
    created,
    present,
    removed,
    replaced,
)
from tests.auth.editor_values import EDITOR, NOW, TRACE
from tests.groups.group_values import TENANT
from tests.guests.policies.policy_timeline import POLICY

pytestmark = pytest.mark.pure

HEAD = PolicyHead(TENANT, POLICY, 3, "90 days", active=True)
CONTENT: Content = {"id": str(POLICY), "name": "90 days", "active": True}
ALL: Content = {"name": "90 days", "active": True}
RECORD = PolicyRecord(StoredPolicy(HEAD, b"{}"), NOW, SERVICE, NOW)


def to_record(verb: str, before: Content | None, after: Content | None) -> Change:
    return Change(
        tenant_id=TENANT,
        action=f"policy.{verb}",
        actor=EDITOR.actor,
        client_id=EDITOR.client_id,
        subject=Subject("policy", POLICY, "90 days"),
        before=before,
        after=after,
        request_id=None,
        trace_id=TRACE,
        client_address="192.0.2.1",
    )


def test_it_works() -> None:
    after = {**CONTENT, "active": False}

    assert created(HEAD, CONTENT, EDITOR) == to_record("create", None, ALL)
    assert replaced(HEAD, CONTENT, after, EDITOR) == to_record("replace", {"active": True}, {"active": False})
    assert removed(HEAD, CONTENT, EDITOR) == to_record("delete", ALL, None)


def test_a_policy_is_there_or_it_is_not() -> None:
    assert present(RECORD) is RECORD
    with pytest.raises(NotFound) as caught:
        present(None)
    assert caught.value.code == "notFound"


def test_each_revision_is_a_version() -> None:
    assert RECORD.etag == '"3"'
    assert replace(RECORD, stored=StoredPolicy(replace(HEAD, revision=4), b"{}")).etag == '"4"'
