# SPDX-License-Identifier: Apache-2.0
"""Records of what is sent again."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import DeliveryId, EventId, TemplateId
from chamberlain.webhooks.models import DeliveryRecord, DeliverySpan, DeliveryState
from chamberlain.webhooks.rules import present_delivery, redelivery_change, require_callable, span_redelivery_change
from tests.auth.editor_values import EDITOR, TRACE
from tests.groups.group_values import REQUEST, TENANT

pytestmark = pytest.mark.pure

SINCE, UNTIL = datetime(2026, 11, 20, 9, 30, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)
TEMPLATE = TemplateId(UUID(int=3))
RECORD = DeliveryRecord(
    id=DeliveryId(UUID(int=1)),
    tenant_id=TENANT,
    event_id=EventId(UUID(int=2)),
    type="group.created",
    request_id=REQUEST,
    template_id=TEMPLATE,
    url="https://hooks.example/",
    state=DeliveryState.FAILED,
    next_attempt_at=None,
    attempts=(),
    created_at=SINCE,
)


def test_it_works() -> None:
    assert redelivery_change(RECORD, EDITOR, {"reason": "Mended."}) == Change(
        tenant_id=TENANT,
        action="delivery.redeliver",
        actor=EDITOR.actor,
        client_id=EDITOR.client_id,
        subject=Subject("delivery", RECORD.id, "group.created"),
        before={"state": "failed"},
        after={"state": "pending", "reason": "Mended."},
        request_id=REQUEST,
        trace_id=TRACE,
        client_address="192.0.2.1",
    )


@pytest.mark.parametrize(("template_id", "written"), [(None, None), (TEMPLATE, "00000000-0000-0000-0000-000000000003")])
def test_it_works_for_a_span_of_time(template_id: TemplateId | None, written: str | None) -> None:
    change = span_redelivery_change(TENANT, DeliverySpan(SINCE, UNTIL, template_id), EDITOR)

    assert change.after == {
        "from": "2026-11-20T09:30:00+00:00",
        "to": "2026-11-21T00:00:00+00:00",
        "templateId": written,
    }
    assert (change.action, change.before, change.request_id) == ("delivery.redeliver", None, None)
    assert (change.tenant_id, change.actor, change.trace_id) == (TENANT, EDITOR.actor, TRACE)
    assert (change.subject.type, change.subject.id) == ("delivery", None)


def test_what_is_not_there_is_not_sent_again() -> None:
    assert present_delivery(RECORD) is RECORD
    with pytest.raises(NotFound):
        present_delivery(None)


def test_nothing_is_sent_to_nowhere() -> None:
    require_callable("https://hooks.example/")
    with pytest.raises(Conflict) as caught:
        require_callable(None)
    assert caught.value.code == "stateDoesNotAllow"
