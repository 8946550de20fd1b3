# SPDX-License-Identifier: Apache-2.0
"""Labels of closed sets: kinds, steps and states."""

from collections.abc import Mapping
from typing import Final

from chamberlain.console.formats import phrase
from chamberlain.console.words import N_
from chamberlain.directory.steps import Step
from chamberlain.requests.models import (
    ApprovalState,
    RequestKind,
    RequestState,
    StepState,
)
from chamberlain.templates.models import TemplateKind

STATES: Final[Mapping[RequestState, str]] = {
    RequestState.PENDING_APPROVAL: N_("Waiting for approval"),
    RequestState.QUEUED: N_("Queued"),
    RequestState.RUNNING: N_("In progress"),
    RequestState.WAITING: N_("Waiting"),
    RequestState.SUCCEEDED: N_("Ready"),
    RequestState.FAILED: N_("Failed"),
    RequestState.REJECTED: N_("Rejected"),
    RequestState.CANCELLED: N_("Cancelled"),
    RequestState.EXPIRED: N_("Expired"),
}

KINDS: Final[Mapping[str, str]] = {
    RequestKind.ROOM: N_("Room"),
    RequestKind.EQUIPMENT: N_("Equipment"),
    RequestKind.SHARED: N_("Shared mailbox"),
    RequestKind.GROUP: N_("Group"),
    RequestKind.TEAM: N_("Team"),
    RequestKind.ASSIGNMENT: N_("Guest rules"),
    RequestKind.REPAIR: N_("Repair"),
    TemplateKind.GUEST: N_("Guest rules"),
}

STEPS: Final[Mapping[Step, str]] = {
    Step.CHECK_PEOPLE: N_("Check people"),
    Step.CREATE_GROUP: N_("Create the group"),
    Step.ADD_OWNERS: N_("Add owners"),
    Step.ADD_MEMBERS: N_("Add members"),
    Step.SET_LABEL: N_("Set the sensitivity label"),
    Step.CREATE_TEAM: N_("Turn the group into a team"),
    Step.CREATE_CHANNELS: N_("Create channels"),
    Step.ASSIGN_GUEST_RULES: N_("Assign the guest rules"),
    Step.SET_PROPERTIES: N_("Set name, description and visibility"),
    Step.CREATE_MAILBOX: N_("Create the mailbox"),
    Step.SET_ADDRESS_FIELDS: N_("Enter the postal address"),
    Step.SET_PLACE: N_("Describe the room"),
    Step.SET_BOOKING: N_("Turn on automatic booking"),
    Step.SET_AUTOMATIC_REPLY: N_("Set the automatic reply"),
    Step.SET_QUOTA: N_("Set the storage limit"),
    Step.SET_CAPACITY: N_("Set the capacity"),
    Step.SET_VISIBILITY: N_("Show or hide in the address book"),
    Step.SET_ALIASES: N_("Add the alias"),
    Step.SET_PERMISSIONS: N_("Grant permissions"),
    Step.SET_OWNERS: N_("Set owners"),
    Step.MARK_ASSIGNMENT: N_("Prepare the guest rules"),
    Step.SET_GUEST_ACCESS: N_("Set who may add guests"),
    Step.SET_GUEST_DOMAINS: N_("Set the domains of guests"),
    Step.SET_SHARING_CAPABILITY: N_("Set the sharing of the site"),
    Step.REPAIR_DRIFT: N_("Restore the intended value"),
}

STEP_STATES: Final[Mapping[StepState, str]] = {
    StepState.PENDING: N_("Not started"),
    StepState.RUNNING: N_("In progress"),
    StepState.WAITING: N_("Waiting"),
    StepState.SUCCEEDED: N_("Done"),
    StepState.WARNING: N_("Partly done"),
    StepState.FAILED: N_("Failed"),
}

APPROVAL_STATES: Final[Mapping[ApprovalState, str]] = {
    ApprovalState.NOT_REACHED: N_("Not started"),
    ApprovalState.PENDING: N_("Waiting for approval"),
    ApprovalState.APPROVED: N_("Approved"),
    ApprovalState.REJECTED: N_("Rejected"),
    ApprovalState.BLOCKED: N_("No approver found"),
}


def state_label(language: str, state: RequestState) -> str:
    """Name the state of a request."""
    return phrase(language, STATES[state])


def kind_label(language: str, kind: str) -> str:
    """Name a kind of request or template."""
    return phrase(language, KINDS[kind])


def step_label(language: str, step: Step) -> str:
    """Name a step."""
    return phrase(language, STEPS[step])


def step_state_label(language: str, state: StepState) -> str:
    """Name the state of a step."""
    return phrase(language, STEP_STATES[state])


def approval_label(language: str, state: ApprovalState) -> str:
    """Name the state of a level of approval."""
    return phrase(language, APPROVAL_STATES[state])
