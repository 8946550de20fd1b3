"""Test calls of webhooks: an event that has not happened, for whoever wants to know whether the receiver takes one."""

from datetime import datetime
from typing import TYPE_CHECKING

from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.models_events import Document, format_time
from chamberlain.core.errors import Conflict
from chamberlain.templates.models import TemplateHead
from chamberlain.webhooks.models import Attempt, Reply

if TYPE_CHECKING:
    from chamberlain.core.values import Json

# No event of the feed has this type: a receiver that knows what it wants passes by it.
TEST_TYPE = "webhook.test"


def payload_of_test(head: TemplateHead, now: datetime) -> Document:
    """What is sent: the five members of every payload, about the template alone."""
    return {
        "type": TEST_TYPE,
        "timestamp": format_time(now),
        "requestId": None,
        "tenantId": str(head.tenant_id),
        "data": {"templateId": str(head.id)},
    }


def only_attempt(reply: Reply) -> Attempt:
    """What came back, as attempts are shown: there is one, and none follows."""
    milliseconds = round(reply.duration.total_seconds() * 1000)
    return Attempt(1, reply.at, reply.status, milliseconds, reply.error, reply.answer)


def no_secret() -> Conflict:
    """What to say of a webhook whose calls cannot be signed."""
    detail = "There is no secret that a call could be signed with. Make one: POST .../webhook/rotate/."
    return Conflict("stateDoesNotAllow", detail)


def tested(head: TemplateHead, url: str, attempt: Attempt, editor: Editor) -> Change:
    """The record of a test call."""
    after: dict[str, Json] = {"url": url, "status": attempt.status, "error": attempt.error}
    return Change(
        tenant_id=head.tenant_id,
        action="webhook.test",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("template", head.id, head.name),
        before=None,
        after=after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )
