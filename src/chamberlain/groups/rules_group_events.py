"""Events of groups and teams."""

from collections.abc import Mapping
from datetime import datetime

from chamberlain.changes.models_events import Event, EventType, actor_document, shorten_name
from chamberlain.core.ids import EventId, TemplateId
from chamberlain.directory.groups import ObservedGroup
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import RequestKind


def group_created(
    event_id: EventId,
    request: RequestSummary,
    group: ObservedGroup,
    *,
    template_id: TemplateId,
    metadata: Mapping[str, str | bool] | None,
    now: datetime,
) -> Event:
    """The group or team of a request was created."""
    is_team = request.kind is RequestKind.TEAM
    return Event(
        id=event_id,
        type=EventType.TEAM_CREATED if is_team else EventType.GROUP_CREATED,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "group": {
                "id": str(group.id),
                "displayName": shorten_name(group.display_name),
                "mail": group.mail,
                "mailNickname": group.mail_nickname,
            },
            "templateId": str(template_id),
            "metadata": dict(metadata or {}),
            "createdBy": actor_document(request.created_by),
        },
    )
