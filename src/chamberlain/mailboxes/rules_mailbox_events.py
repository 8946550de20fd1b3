"""Events of mailboxes."""

from collections.abc import Mapping
from datetime import datetime

from chamberlain.changes.models_events import Event, EventType, actor_document, shorten_name
from chamberlain.core.ids import EventId, MailboxId, TemplateId
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.requests.events import RequestSummary


def mailbox_created(
    event_id: EventId,
    request: RequestSummary,
    mailbox: ObservedMailbox,
    *,
    mailbox_id: MailboxId,
    template_id: TemplateId,
    metadata: Mapping[str, str | bool] | None,
    now: datetime,
) -> Event:
    """The mailbox of a request was created.

    The event has the id by which the API reads it, not the id of the directory.
    """
    return Event(
        id=event_id,
        type=EventType.MAILBOX_CREATED,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "mailbox": {
                "id": str(mailbox_id),
                "type": str(mailbox.type),
                "name": mailbox.name,
                "displayName": shorten_name(mailbox.display_name),
                "primarySmtpAddress": mailbox.mail,
            },
            "templateId": str(template_id),
            "metadata": dict(metadata or {}),
            "createdBy": actor_document(request.created_by),
        },
    )
