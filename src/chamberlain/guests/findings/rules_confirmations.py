"""Confirmations: somebody says in a review that a guest stays."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chamberlain.auth.models import Caller
from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change
from chamberlain.core.errors import Conflict, Forbidden, NotFound
from chamberlain.core.idempotency import Act
from chamberlain.directory.models import NamedPerson, Person
from chamberlain.guests.findings.rules import subject_of
from chamberlain.guests.models import FindingKind, FindingRecord, FindingState
from chamberlain.guests.policies.evaluation_policy_tasks import PolicyTask
from chamberlain.guests.policies.events_policy_findings import about_of
from chamberlain.guests.policies.models import ConfirmedBy, Review
from chamberlain.guests.policies.timers import Clock, PolicyRule, confirm


def require_owner(caller: Caller, owners: Iterable[NamedPerson]) -> None:
    """Raises NotFound for whoever does not own the group or site: others may not even know of what is found there."""
    if caller.user_id not in {owner.id for owner in owners}:
        raise not_theirs()


def require_asked(task: PolicyTask | None) -> None:
    """Raises NotFound where the policy does not leave it to owners."""
    review = _review_of(task)
    if review is None or review.confirmed_by is not ConfirmedBy.OWNERS:
        raise not_theirs()


def not_theirs() -> NotFound:
    """What those are told who are not asked."""
    return NotFound("There is no such finding, or it is not yours to confirm.")


def require_other(caller: Caller, record: FindingRecord) -> None:
    """Raises Forbidden for a guest who confirms their own stay."""
    if caller.user_id is not None and str(caller.user_id) == record.about:
        raise Forbidden("selfApproval", "Nobody confirms their own stay. Ask somebody else who may.")


def require_host(person: Person | None) -> None:
    """Raises Forbidden for an owner who is a guest: two of them could keep each other."""
    if person is not None and person.is_guest:
        detail = "Guests confirm nobody's stay, also where they own the group. Ask an administrator or another owner."
        raise Forbidden("selfApproval", detail)


def require_open_review(record: FindingRecord) -> None:
    """Raises Conflict for what is no review, or is open no more."""
    if record.kind is not FindingKind.REVIEW_DUE:
        raise Conflict("stateDoesNotAllow", f"Only a reviewDue is confirmed; this is a {record.kind}.")
    if record.state is not FindingState.OPEN:
        raise Conflict("stateDoesNotAllow", f"A review that is {record.state} cannot be confirmed; only an open one.")


def confirmed_clock(record: FindingRecord, task: PolicyTask, *, now: datetime) -> Clock:
    """The clock of the guest as it goes on from now, also where nobody answered in time and the guest is there still.
    Raises Conflict when the review has just ended otherwise."""
    review = _review_of(task)
    clock = next((each for each in task.clocks if _is_of(each, record)), None)
    confirmed = None if review is None or clock is None else confirm(clock, review, now=now)
    if confirmed is None:
        raise just_ended()
    return confirmed


def just_ended() -> Conflict:
    """What those are told who are too late."""
    detail = "The review has just ended: its action is being taken, or the policy says otherwise by now."
    return Conflict("stateDoesNotAllow", detail)


def confirmed_finding(before: FindingRecord, *, now: datetime) -> FindingRecord:
    """The finding as it is when the guest was confirmed."""
    return replace(before, state=FindingState.GONE, last_seen_at=now)


def change_of_confirmation(before: FindingRecord, after: FindingRecord, editor: Editor, act: Act) -> Change:
    """The record of a confirmation."""
    return Change(
        tenant_id=after.subject.tenant_id,
        action="finding.confirm",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=subject_of(after),
        before={"state": before.state},
        after={"state": after.state, "guest": after.observed, **act.said},
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def _review_of(task: PolicyTask | None) -> Review | None:
    return None if task is None or task.policy is None else task.policy.rules.review


def _is_of(clock: Clock, record: FindingRecord) -> bool:
    return clock.rule is PolicyRule.REVIEW and about_of(clock) == record.about
