"""Records of mailboxes: what those who may read one are shown, and what a request says has come of it."""

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
    """Where a mailbox stands. It is not the free text that callers may keep in its `state`."""

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    ACTIVE = "active"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


def provisioning_state_of(state: RequestState) -> ProvisioningState:
    """The state of the mailbox of a request in this state."""
    return STATES[state]


def request_states_of(state: ProvisioningState) -> frozenset[RequestState]:
    """The states of the request in which its mailbox has this state, for those who look for mailboxes."""
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
    """A mailbox whole. `order` is what was sent, with the template's defaults; `error` is that of the request."""

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
    """A mailbox that was asked for, as it stood when its request was accepted, and that request."""

    record: MailboxRecord
    accepted: Accepted


@dataclass(frozen=True, slots=True)
class MailboxFilter:
    """Which mailboxes somebody wants to see; None is any. `prefix` is how the name or an address begins."""

    type: MailboxType | None = None
    provisioning_state: ProvisioningState | None = None
    prefix: str | None = None


def capacity_unit(mailbox_type: MailboxType) -> Literal["MB", "units", "people"]:
    """What the capacity of a mailbox of this type is counted in."""
    match mailbox_type:
        case MailboxType.SHARED:
            return "MB"
        case MailboxType.EQUIPMENT:
            return "units"
        case MailboxType.ROOM:
            return "people"


def mailbox_result(mailbox_id: MailboxId, mailbox: ObservedMailbox) -> RequestResult:
    """What a request has brought about, by the id that the mailbox is read by."""
    return RequestResult("mailbox", mailbox_id, mailbox.display_name, mailbox.mail)
