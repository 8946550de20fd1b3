# SPDX-License-Identifier: Apache-2.0
"""A test call of a webhook."""

from datetime import timedelta

import pytest

from chamberlain.changes.models import Change, Subject
from chamberlain.webhooks.models import Attempt, Reply
from chamberlain.webhooks.rules import build_test_attempt, build_test_payload, no_secret
from chamberlain.webhooks.rules import build_test_change as record_of_test
from tests.auth.editor_values import EDITOR, NOW, TRACE
from tests.groups.group_values import GROUP_HEAD, TENANT

pytestmark = pytest.mark.pure

REPLY = Reply(NOW, timedelta(milliseconds=1234.6), 500, "No.", None)
ATTEMPT = Attempt(1, NOW, 500, 1235, None, "No.")


def test_it_works() -> None:
    assert build_test_payload(GROUP_HEAD, NOW) == {
        "type": "webhook.test",
        "timestamp": "2026-11-20T09:30:01.000Z",
        "requestId": None,
        "tenantId": "e57a7e00-0000-4000-8000-000000000001",
        "data": {"templateId": "7e000000-0000-4000-8000-000000000011"},
    }


def test_there_is_one_attempt() -> None:
    assert build_test_attempt(REPLY) == ATTEMPT


def test_the_record_says_what_came_back() -> None:
    assert record_of_test(GROUP_HEAD, "https://hooks.example/", ATTEMPT, EDITOR) == Change(
        tenant_id=TENANT,
        action="webhook.test",
        actor=EDITOR.actor,
        client_id=EDITOR.client_id,
        subject=Subject("template", GROUP_HEAD.id, "Project group"),
        before=None,
        after={"url": "https://hooks.example/", "status": 500, "error": None},
        request_id=None,
        trace_id=TRACE,
        client_address="192.0.2.1",
    )


def test_a_call_needs_a_secret() -> None:
    assert no_secret().code == "stateDoesNotAllow"
