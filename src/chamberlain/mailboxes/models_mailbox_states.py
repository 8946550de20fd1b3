"""The state of a mailbox, which follows that of the request that makes it."""

from collections.abc import Mapping
from enum import StrEnum

from chamberlain.requests.models import RequestState


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
