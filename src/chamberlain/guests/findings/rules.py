"""Acceptances: somebody lets a finding stand, with a reason, for good or until a moment at which it is open again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from chamberlain.auth.models import SERVICE
from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import GroupId, TraceId
from chamberlain.core.values import Json
from chamberlain.guests.models import Acceptance, FindingKind, FindingRecord, FindingState
from chamberlain.guests.models_assignment_tasks import Place
from chamberlain.guests.policies.events_policy_findings import about_of, kind_of
from chamberlain.guests.policies.timers import Clock

# What stands can be let stand; what is accepted already gets another reason or another end.
ACCEPTABLE = frozenset({FindingState.OPEN, FindingState.ACCEPTED})


@dataclass(frozen=True, slots=True)
class WantedAcceptance:
    """What somebody says who lets a finding stand. Without `until` that has no end."""

    reason: str
    until: datetime | None


def present_finding(record: FindingRecord | None) -> FindingRecord:
    """The finding, or NotFound."""
    if record is None:
        raise NotFound("There is no such finding. The list has those that there are.")
    return record


def place_of(record: FindingRecord) -> Place:
    """The group or site that a finding is about; of a mailbox there is none in this place."""
    return record.subject.tenant_id, GroupId(record.subject.id)


def accepted(before: FindingRecord, wanted: WantedAcceptance, editor: Editor, *, now: datetime) -> FindingRecord:
    """The finding as it is when it was accepted. Raises Conflict when it does not stand any more."""
    if before.state not in ACCEPTABLE:
        detail = f"A finding that is {before.state} cannot be accepted; only one that is open or accepted."
        raise Conflict("stateDoesNotAllow", detail)
    acceptance = Acceptance(by=editor.actor, reason=wanted.reason, accepted_at=now, until=wanted.until)
    return replace(before, state=FindingState.ACCEPTED, acceptance=acceptance)


def require_at_rest(record: FindingRecord, clocks: Iterable[Clock]) -> None:
    """Raises Conflict while the action of a policy is being taken: it could not be kept from that any more."""
    of_it = [each for each in clocks if (kind_of(each.rule), about_of(each)) == (record.kind, record.about)]
    if any(each.is_under_way for each in of_it):
        raise _under_way()


def require_not_removed(record: FindingRecord, *, is_applied: bool) -> None:
    """Raises Conflict for a guest whom a template has removed just now, while what is assigned `is_applied`."""
    if record.kind is FindingKind.GUEST_AGAINST_RULE and record.action is not None and is_applied:
        raise _under_way()


def has_ended(record: FindingRecord, *, now: datetime) -> bool:
    """Whether a finding is accepted, and no longer than until now."""
    acceptance = record.acceptance
    if record.state is not FindingState.ACCEPTED or acceptance is None or acceptance.until is None:
        return False
    return acceptance.until <= now


def reopened(before: FindingRecord) -> FindingRecord:
    """The finding as it is when its acceptance has ended."""
    return replace(before, state=FindingState.OPEN, acceptance=None)


def change_of_acceptance(before: FindingRecord, after: FindingRecord, editor: Editor) -> Change:
    """The record of an acceptance."""
    return Change(
        tenant_id=after.subject.tenant_id,
        action="finding.accept",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=subject_of(after),
        before=_said(before),
        after=_said(after),
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def change_of_reopening(before: FindingRecord, after: FindingRecord, trace_id: TraceId) -> Change:
    """The record of an acceptance that has ended; nobody did that."""
    return Change(
        tenant_id=after.subject.tenant_id,
        action="finding.reopen",
        actor=SERVICE,
        client_id=None,
        subject=subject_of(after),
        before=_said(before),
        after=_said(after),
        request_id=None,
        trace_id=trace_id,
    )


def subject_of(record: FindingRecord) -> Subject:
    """A finding as records name it: by what was found, and where."""
    return Subject("finding", record.id, f"{record.kind}: {record.subject.display_name}")


def _under_way() -> Conflict:
    detail = "Its action is just being taken. Send the request again in a minute: then it is known what came of it."
    return Conflict("stateDoesNotAllow", detail)


def _said(record: FindingRecord) -> dict[str, Json]:
    acceptance = record.acceptance
    if acceptance is None:
        return {"state": record.state}
    until = None if acceptance.until is None else acceptance.until.isoformat()
    return {"state": record.state, "reason": acceptance.reason, "until": until}
