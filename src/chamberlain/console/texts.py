# SPDX-License-Identifier: Apache-2.0
"""Texts for people, by code and language, as filters of the templates.

Each function of TEXTS takes the language first. Templates have them as filters without it: `{{ state|state_label }}`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from chamberlain.console.formats import (
    phrase,
    write_alternatives,
    write_deadline,
    write_duration,
    write_list,
    write_number,
    write_time,
)
from chamberlain.console.labels import (
    approval_label,
    kind_label,
    state_label,
    step_label,
    step_state_label,
)
from chamberlain.console.reasons import error_text, reason_text
from chamberlain.console.words import N_
from chamberlain.requests.models import (
    ApprovalMode,
    ApprovalRecord,
    ApprovalState,
    Decision,
    DecisionOutcome,
    RequestState,
)

EVENTS: Final[Mapping[RequestState, str]] = {
    RequestState.PENDING_APPROVAL: N_("Waiting for approval"),
    RequestState.QUEUED: N_("Queued"),
    RequestState.RUNNING: N_("In progress"),
    RequestState.WAITING: N_("Waiting for the directory"),
    RequestState.SUCCEEDED: N_("Ready"),
    RequestState.FAILED: N_("Failed"),
    RequestState.REJECTED: N_("Rejected"),
    RequestState.CANCELLED: N_("Cancelled"),
    RequestState.EXPIRED: N_("Expired, because there was no decision in time"),
}


def event_text(language: str, event: ApprovalRecord | Decision | RequestState) -> str:
    """Write an entry of a timeline.

    It is a level of approval, a decision, or a state of the request.
    """
    match event:
        case ApprovalRecord():
            return _approval(language, event)
        case Decision():
            return _decision(language, event)
        case RequestState():
            return phrase(language, EVENTS[event])


def _approval(language: str, level: ApprovalRecord) -> str:
    if level.state is not ApprovalState.PENDING:
        return approval_label(language, level.state)
    decided = {each.by.id if each.on_behalf_of is None else each.on_behalf_of.id for each in level.decisions}
    names = [_name(language, each.display_name) for each in level.approvers if each.id not in decided]
    write = write_alternatives if level.mode is ApprovalMode.ANY else write_list
    return phrase(language, N_("Waiting for approval by %(names)s"), names=write(language, names))


def _decision(language: str, decision: Decision) -> str:
    name = _name(language, decision.by.display_name)
    if decision.on_behalf_of is not None:
        approver = _name(language, decision.on_behalf_of.display_name)
        name = phrase(language, N_("%(name)s for %(approver)s"), name=name, approver=approver)
    match decision.outcome:
        case DecisionOutcome.APPROVED:
            return phrase(language, N_("Approved by %(name)s"), name=name)
        case DecisionOutcome.REJECTED:
            return phrase(language, N_("Rejected by %(name)s"), name=name)


def _name(language: str, name: str) -> str:
    return name or phrase(language, N_("Unknown person"))


# Any: templates pass what each function takes.
TEXTS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            error_text,
            event_text,
            kind_label,
            reason_text,
            state_label,
            step_label,
            step_state_label,
            write_deadline,
            write_duration,
            write_number,
            write_time,
        )
    }
)


def texts_in(language: str) -> Mapping[str, Callable[..., Any]]:
    """Return the functions of a language, by name."""
    return {name: partial(each, language) for name, each in TEXTS.items()}
