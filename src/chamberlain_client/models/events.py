"""Events: what has happened, as the feed and webhooks tell it."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from chamberlain_client.models.actors import Actor, Person
from chamberlain_client.models.findings import Subject
from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum
from chamberlain_client.models.requests import RequestError, RequestKind, RequestState


class EventType(OpenStrEnum):
    """What can have happened; there will be more."""

    MAILBOX_CREATED = "mailbox.created"
    GROUP_CREATED = "group.created"
    TEAM_CREATED = "team.created"
    GROUP_ASSIGNMENT_CHANGED = "group.assignmentChanged"
    SITE_ASSIGNMENT_CHANGED = "site.assignmentChanged"
    REQUEST_APPROVAL_REQUIRED = "request.approvalRequired"
    REQUEST_REJECTED = "request.rejected"
    REQUEST_FAILED = "request.failed"
    REQUEST_CANCELLED = "request.cancelled"
    REQUEST_EXPIRED = "request.expired"
    POLICY_REMINDER = "policy.reminder"
    POLICY_ACTION_TAKEN = "policy.actionTaken"
    WEBHOOK_DISABLED = "webhook.disabled"
    WEBHOOK_TEST = "webhook.test"


class MailboxInShort(Model, frozen=True):
    """A mailbox that was made."""

    id: UUID
    type: str
    name: str
    display_name: str
    primary_smtp_address: str


class GroupInShort(Model, frozen=True):
    """A group or team that was made."""

    id: UUID
    display_name: str
    mail: str | None
    mail_nickname: str | None


class SubjectInShort(Model, frozen=True):
    """A group or site."""

    id: UUID
    display_name: str


class Assignment(Model, frozen=True):
    """What is assigned; None where nothing is."""

    template_id: UUID | None
    policy_id: UUID | None


class RequestInShort(Model, frozen=True):
    """A request, as it became."""

    request_id: UUID
    kind: RequestKind
    display_name: str
    state: RequestState
    error: RequestError | None


class GuestInShort(Model, frozen=True):
    """A guest."""

    id: UUID
    mail: str | None


class MailboxCreated(Model, frozen=True, kw_only=True):
    """Of `mailbox.created`."""

    mailbox: MailboxInShort
    template_id: UUID
    metadata: Mapping[str, str | bool]
    created_by: Actor


class GroupCreated(Model, frozen=True, kw_only=True):
    """Of `group.created` and `team.created`."""

    group: GroupInShort
    template_id: UUID
    metadata: Mapping[str, str | bool]
    created_by: Actor


class GroupAssignmentChanged(Model, frozen=True, kw_only=True):
    """Of `group.assignmentChanged`."""

    group: SubjectInShort
    before: Assignment
    after: Assignment
    changed_by: Actor


class SiteAssignmentChanged(Model, frozen=True, kw_only=True):
    """Of `site.assignmentChanged`; `id` of the site is that of its security group."""

    site: SubjectInShort
    before: Assignment
    after: Assignment
    changed_by: Actor


class ApprovalRequired(Model, frozen=True, kw_only=True):
    """Of `request.approvalRequired`; nobody approves where the request is blocked."""

    request: RequestInShort
    level: int
    approvers: tuple[Person, ...]
    created_by: Actor


class RequestEnded(Model, frozen=True, kw_only=True):
    """Of `request.rejected`, `request.failed`, `request.cancelled` and `request.expired`."""

    request: RequestInShort
    created_by: Actor


class PolicyApplied(Model, frozen=True, kw_only=True):
    """Of `policy.reminder` and `policy.actionTaken`."""

    subject: Subject
    guest: GuestInShort | None
    policy_id: UUID
    rule: str
    action_at: datetime | None
    action: str


class WebhookDisabled(Model, frozen=True, kw_only=True):
    """Of `webhook.disabled`."""

    template_id: UUID
    url: str
    reason: str


class WebhookTest(Model, frozen=True):
    """Of `webhook.test`, which is sent to webhooks only."""

    template_id: UUID


EventData = (
    MailboxCreated
    | GroupCreated
    | GroupAssignmentChanged
    | SiteAssignmentChanged
    | ApprovalRequired
    | RequestEnded
    | PolicyApplied
    | WebhookDisabled
    | WebhookTest
    | Mapping[str, object]
)


class Event(Model, frozen=True, kw_only=True):
    """Something that has happened. `request_id` is None where no request is behind it; `data` of a type that this
    version does not know is the JSON object as it came."""

    id: str
    type: EventType
    timestamp: datetime
    request_id: UUID | None
    tenant_id: UUID
    data: EventData
