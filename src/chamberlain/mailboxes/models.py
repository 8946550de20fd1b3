"""Mailboxes, their provisioning states, and the result of their requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from chamberlain.auth.models import Actor
from chamberlain.core.ids import MailboxId, RequestId, TemplateId, TenantId
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType, ObservedMailbox, TemplateSource
from chamberlain.requests.models import Accepted, RequestError, RequestResult, RequestState


class ProvisioningState(StrEnum):
    """The provisioning state of a mailbox.

    Its `state` is a free text of the caller.
    """

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    ACTIVE = "active"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


def provisioning_state_of(state: RequestState) -> ProvisioningState:
    """Return the state of a mailbox by the state of its request."""
    return STATES[state]


def request_states_of(state: ProvisioningState) -> frozenset[RequestState]:
    """Return the request states that mean this provisioning state."""
    return frozenset([each for each, follows in STATES.items() if follows is state])


STATES: Mapping[RequestState, ProvisioningState] = {
    RequestState.PENDING_APPROVAL: ProvisioningState.PENDING_APPROVAL,
    RequestState.QUEUED: ProvisioningState.QUEUED,
    RequestState.RUNNING: ProvisioningState.PROVISIONING,
    RequestState.WAITING: ProvisioningState.PROVISIONING,
    RequestState.SUCCEEDED: ProvisioningState.ACTIVE,
    RequestState.FAILED: ProvisioningState.FAILED,
    RequestState.REJECTED: ProvisioningState.REJECTED,
    RequestState.CANCELLED: ProvisioningState.CANCELLED,
    RequestState.EXPIRED: ProvisioningState.EXPIRED,
}


@value(frozen=True, slots=True)
class MailboxRecord:
    """A mailbox.

    `order` has the template's defaults; `error` is the error of the request.
    """

    id: MailboxId
    tenant_id: TenantId
    order: MailboxOrder
    type: MailboxType
    mail: str
    template_id: TemplateId
    template_source: TemplateSource
    provisioning_state: ProvisioningState
    request_id: RequestId
    approval_required: bool
    error: RequestError | None
    warnings: tuple[str, ...]
    created_at: datetime
    created_by: Actor
    updated_at: datetime


@value(frozen=True, slots=True)
class AcceptedMailbox:
    """A requested mailbox at the time of acceptance, and its request."""

    record: MailboxRecord
    accepted: Accepted


@dataclass(frozen=True, slots=True)
class MailboxFilter:
    """Filters of a list of mailboxes; None matches all.

    `prefix` is the start of the name or an address.
    """

    type: MailboxType | None = None
    provisioning_state: ProvisioningState | None = None
    prefix: str | None = None


def capacity_unit(mailbox_type: MailboxType) -> Literal["MB", "units", "people"]:
    """Return the unit of the capacity."""
    match mailbox_type:
        case MailboxType.SHARED:
            return "MB"
        case MailboxType.EQUIPMENT:
            return "units"
        case MailboxType.ROOM:
            return "people"


def mailbox_result(mailbox_id: MailboxId, mailbox: ObservedMailbox) -> RequestResult:
    """Return the result of a request, with the mailbox's API id."""
    return RequestResult("mailbox", mailbox_id, mailbox.display_name, mailbox.mail)
