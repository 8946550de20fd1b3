# SPDX-License-Identifier: Apache-2.0
"""Rules of findings: acceptance, ignored values, and confirmation of guests."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from chamberlain.auth.models import SERVICE, Caller, Editor
from chamberlain.changes.models import Change, Subject, change_by
from chamberlain.core.errors import BodyInvalid, Conflict, Fault, Forbidden, NotFound
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import GroupId, TraceId
from chamberlain.core.values import Json
from chamberlain.directory.models import NamedPerson, Person
from chamberlain.guests.models import Acceptance, FindingKind, FindingRecord, FindingState, Place
from chamberlain.guests.policies.evaluation import PolicyTask
from chamberlain.guests.policies.events import finding_about, finding_kind
from chamberlain.guests.policies.models import ConfirmedBy, Review
from chamberlain.guests.policies.timers import PolicyRule, Timer, confirm

# An accepted finding can get another reason or another end. An ignored one can be accepted, and the reverse.
ACCEPTABLE = frozenset({FindingState.OPEN, FindingState.ACCEPTED, FindingState.IGNORED})
# A guest's finding has no observed value that could change.
IGNORABLE = frozenset({FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD})


@dataclass(frozen=True, slots=True)
class AcceptanceRequest:
    """A requested acceptance. Without `until` it has no end."""

    reason: str
    until: datetime | None


def present_finding(record: FindingRecord | None) -> FindingRecord:
    """Return the finding. Raises NotFound for None."""
    if record is None:
        raise NotFound("The finding does not exist.")
    return record


def subject_key(record: FindingRecord) -> Place:
    """Return the key of the group or site.

    Mailboxes have none in this table.
    """
    return record.subject.tenant_id, GroupId(record.subject.id)


def accepted(before: FindingRecord, wanted: AcceptanceRequest, editor: Editor, *, now: datetime) -> FindingRecord:
    """Accept a finding. Raises Conflict unless it is open or accepted."""
    if before.state not in ACCEPTABLE:
        detail = f"A finding that is {before.state} cannot be accepted. Only open, accepted or ignored ones can."
        raise Conflict("stateDoesNotAllow", detail)
    acceptance = Acceptance(by=editor.actor, reason=wanted.reason, accepted_at=now, until=wanted.until)
    return replace(before, state=FindingState.ACCEPTED, acceptance=acceptance)


def ignored(before: FindingRecord, act: Act, editor: Editor, *, now: datetime) -> FindingRecord:
    """Ignore the observed value of a finding.

    Raises Conflict for a finding of a policy or template, and for a closed one.
    """
    if before.kind not in IGNORABLE:
        raise Conflict("stateDoesNotAllow", f"A finding of kind {before.kind} cannot be ignored. Accept it instead.")
    if before.state not in ACCEPTABLE:
        detail = f"A finding that is {before.state} cannot be ignored. Only open, accepted or ignored ones can."
        raise Conflict("stateDoesNotAllow", detail)
    acceptance = Acceptance(by=editor.actor, reason=act.comment or "", accepted_at=now, until=None)
    return replace(before, state=FindingState.IGNORED, acceptance=acceptance)


def require_no_action(record: FindingRecord, timers: Iterable[Timer]) -> None:
    """Validate that no action of a policy is in progress. Raises Conflict."""
    of_it = [each for each in timers if (finding_kind(each.rule), finding_about(each)) == (record.kind, record.about)]
    if any(each.is_in_progress for each in of_it):
        raise _action_in_progress()


def require_not_removed(record: FindingRecord, *, is_applied: bool) -> None:
    """Validate that no template is removing the guest. Raises Conflict.

    `is_applied` is true while the assignment is being applied.
    """
    if record.kind is FindingKind.GUEST_AGAINST_RULE and record.action is not None and is_applied:
        raise _action_in_progress()


def has_ended(record: FindingRecord, *, now: datetime) -> bool:
    """Return whether the acceptance of a finding has expired."""
    acceptance = record.acceptance
    if record.state is not FindingState.ACCEPTED or acceptance is None or acceptance.until is None:
        return False
    return acceptance.until <= now


def reopened(before: FindingRecord) -> FindingRecord:
    """Reopen a finding."""
    return replace(before, state=FindingState.OPEN, acceptance=None)


def acceptance_change(before: FindingRecord, after: FindingRecord, editor: Editor) -> Change:
    """Build the audit entry of an acceptance."""
    return change_by(
        editor,
        after.subject.tenant_id,
        "finding.accept",
        audit_subject(after),
        before=_acceptance_document(before),
        after=_acceptance_document(after),
    )


def ignoring_change(before: FindingRecord, after: FindingRecord, editor: Editor, act: Act) -> Change:
    """Build the audit entry of an ignored finding."""
    return change_by(
        editor,
        after.subject.tenant_id,
        "finding.ignore",
        audit_subject(after),
        before=_acceptance_document(before),
        after={"state": after.state, "observed": after.observed, **act.said},
    )


def reopening_change(before: FindingRecord, after: FindingRecord, trace_id: TraceId) -> Change:
    """Build the audit entry of an expired acceptance.

    The service is its actor.
    """
    return Change(
        tenant_id=after.subject.tenant_id,
        action="finding.reopen",
        actor=SERVICE,
        client_id=None,
        subject=audit_subject(after),
        before=_acceptance_document(before),
        after=_acceptance_document(after),
        request_id=None,
        trace_id=trace_id,
    )


def audit_subject(record: FindingRecord) -> Subject:
    """Name a finding in the audit trail by its kind and subject."""
    return Subject("finding", record.id, f"{record.kind}: {record.subject.display_name}")


def require_owner(caller: Caller, owners: Iterable[NamedPerson]) -> None:
    """Validate that the caller owns the group or site.

    Raises NotFound, because the answer must not disclose the finding.
    """
    if caller.user_id not in {owner.id for owner in owners}:
        raise not_yours()


def require_owner_review(task: PolicyTask | None) -> None:
    """Validate that the policy lets owners confirm. Raises NotFound."""
    review = _review_of(task)
    if review is None or review.confirmed_by is not ConfirmedBy.OWNERS:
        raise not_yours()


def not_yours() -> NotFound:
    """Build the error for callers who may not confirm."""
    return NotFound("The finding does not exist, or you may not confirm it.")


def require_not_self(caller: Caller, record: FindingRecord) -> None:
    """Validate that guests do not confirm themselves. Raises Forbidden."""
    if caller.user_id is not None and str(caller.user_id) == record.about:
        raise Forbidden("selfApproval", "You cannot confirm your own stay. Ask another owner or an administrator.")


def require_not_guest(person: Person | None) -> None:
    """Validate that the owner is not a guest. Raises Forbidden.

    Otherwise two guests could confirm each other.
    """
    if person is not None and person.is_guest:
        detail = "Guests cannot confirm guests, even as owners. Ask an administrator or another owner."
        raise Forbidden("selfApproval", detail)


def require_open_review(record: FindingRecord) -> None:
    """Validate that the finding is an open review. Raises Conflict."""
    if record.kind is not FindingKind.REVIEW_DUE:
        raise Conflict(
            "stateDoesNotAllow", f"Only findings of kind reviewDue can be confirmed. This is a {record.kind}."
        )
    if record.state is not FindingState.OPEN:
        raise Conflict("stateDoesNotAllow", f"A review that is {record.state} cannot be confirmed. Only open ones can.")


def confirmed_timer(record: FindingRecord, task: PolicyTask, *, now: datetime) -> Timer:
    """Restart the review timer of a confirmed guest, also after the deadline.

    Raises Conflict if the review has ended otherwise.
    """
    review = _review_of(task)
    timer = next((each for each in task.timers if _is_of(each, record)), None)
    confirmed = None if review is None or timer is None else confirm(timer, review, now=now)
    if confirmed is None:
        raise review_ended()
    return confirmed


def review_ended() -> Conflict:
    """Build the error for a confirmation that is too late."""
    detail = "The review has just ended: its action is running, or the policy has changed."
    return Conflict("stateDoesNotAllow", detail)


def confirmed_finding(before: FindingRecord, *, now: datetime) -> FindingRecord:
    """Close the finding of a confirmed guest."""
    return replace(before, state=FindingState.GONE, last_seen_at=now)


def confirmation_change(before: FindingRecord, after: FindingRecord, editor: Editor, act: Act) -> Change:
    """Build the audit entry of a confirmation."""
    return change_by(
        editor,
        after.subject.tenant_id,
        "finding.confirm",
        audit_subject(after),
        before={"state": before.state},
        after={"state": after.state, "guest": after.observed, **act.said},
    )


def require_ahead(wanted: AcceptanceRequest, *, now: datetime) -> None:
    """Validate that the end is in the future. Raises BodyInvalid."""
    if wanted.until is not None and wanted.until <= now:
        sentence = "{property} must be later than now."
        raise BodyInvalid((Fault.build("/until", "outOfBounds", sentence, property="until"),))


def _action_in_progress() -> Conflict:
    detail = "The action of the finding is running. Send the request again in a minute, when its result is known."
    return Conflict("stateDoesNotAllow", detail)


def _acceptance_document(record: FindingRecord) -> dict[str, Json]:
    acceptance = record.acceptance
    if acceptance is None:
        return {"state": record.state}
    until = None if acceptance.until is None else acceptance.until.isoformat()
    return {"state": record.state, "reason": acceptance.reason, "until": until}


def _review_of(task: PolicyTask | None) -> Review | None:
    return None if task is None or task.policy is None else task.policy.rules.review


def _is_of(timer: Timer, record: FindingRecord) -> bool:
    return timer.rule is PolicyRule.REVIEW and finding_about(timer) == record.about
