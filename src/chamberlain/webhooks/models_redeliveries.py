"""Redeliveries: what was sent once is sent again, alone or with all of a span of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import DeliveryId, TemplateId, TenantId
from chamberlain.core.paging import Position
from chamberlain.webhooks.models import DeliveryRecord

if TYPE_CHECKING:
    from chamberlain.core.values import Json

# How many are queued in one transaction: it takes some hundredths of a second, and nobody waits for it.
BATCH = 500


@dataclass(frozen=True, slots=True)
class DeliverySpan:
    """Deliveries that were made from `since` on and before `until`, of one template or of any (None)."""

    since: datetime
    until: datetime
    template_id: TemplateId | None = None


@dataclass(frozen=True, slots=True)
class RedeliveredBatch:
    """Some of a span that are queued again, and the place behind which the others are, None when there are none."""

    ids: Sequence[DeliveryId]
    next: Position | None


def present_delivery(record: DeliveryRecord | None) -> DeliveryRecord:
    """The delivery, or NotFound."""
    if record is None:
        raise NotFound("There is no such delivery. They are kept for 30 days; the list has those that there are.")
    return record


def require_callable(url: str | None) -> None:
    """Raises Conflict when there is no address to be called."""
    if url is None:
        detail = "The template has no webhook that is active. Give it one by a PUT of the template first."
        raise Conflict("stateDoesNotAllow", detail)


def redelivered(before: DeliveryRecord, editor: Editor, said: Mapping[str, str]) -> Change:
    """The record of one that is sent again; `said` is what the caller said to it."""
    return Change(
        tenant_id=before.tenant_id,
        action="delivery.redeliver",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("delivery", before.id, before.type),
        before={"state": before.state},
        after={"state": "pending", **said},
        request_id=before.request_id,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def span_redelivered(tenant_id: TenantId, span: DeliverySpan, editor: Editor) -> Change:
    """The record of a span that is sent again; it is written before the first of them is queued."""
    after: dict[str, Json] = {
        "from": span.since.isoformat(),
        "to": span.until.isoformat(),
        "templateId": None if span.template_id is None else str(span.template_id),
    }
    return Change(
        tenant_id=tenant_id,
        action="delivery.redeliver",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("delivery", None, "Deliveries of a span of time"),
        before=None,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )
