# SPDX-License-Identifier: Apache-2.0
"""Decide which drift is repaired or reported, and record the repairs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeAlias
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Subject, change_by
from chamberlain.core.errors import Conflict, OutsideFault, Rejected
from chamberlain.core.ids import RequestId, TraceId
from chamberlain.core.values import Json
from chamberlain.directory.properties import PROPERTIES, DriftProperty, Treatment, treatment_of
from chamberlain.drift.compare import (
    Comparison,
    Difference,
    PlannedRepair,
)
from chamberlain.drift.models import Managed, RepairDraft
from chamberlain.guests.findings.rules import audit_subject
from chamberlain.guests.models import (
    ClosedFinding,
    Finding,
    FindingKind,
    FindingMailbox,
    FindingRecord,
    FindingSource,
    FindingState,
)
from chamberlain.requests.models import RequestKind
from chamberlain.tenants.models import Tenant

# So many repairs of one thing are tried that do not hold.
MOST_REPAIRS = 2
# The directory may be late, and two checks may run within a minute. So drift right after a repair does not count.
SHOWN_AFTER = timedelta(hours=1)
# Drift after this time is new. The earlier repair held.
HOLDS_AFTER = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """The repairs of one property.

    `repairs` counts the repairs of the current desired value, which `digest` names. `found_at` is the last drift.

    `is_in_progress` is true from the announcement of a repair until a check observes its result.
    """

    repairs: int
    digest: str
    found_at: datetime
    has_given_up: bool = False
    is_in_progress: bool = False


@dataclass(frozen=True, slots=True)
class PropertyState:
    """The stored state of a property.

    `is_accepted` is true if a user accepted the drift. `is_released` is true if a user accepted that repairs do not
    hold, so that they are retried. `is_ignored` is true if a user ignored the observed value `ignored_value`.
    """

    record: RepairRecord | None = None
    is_accepted: bool = False
    is_released: bool = False
    is_ignored: bool = False
    ignored_value: Json = None

    def allows(self, observed: Json) -> bool:
        """Return whether a user accepted or ignored this value."""
        return self.is_accepted or (self.is_ignored and self.ignored_value == observed)


# The action of findings that are being repaired.
REPAIR = "repair"


class Verdict(Enum):
    """The action for a difference.

    It is repaired, reported, or reported as a repair that does not hold.
    """

    REPAIR = "repair"
    REPORT = "report"
    GIVE_UP = "giveUp"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision on a difference, and the record of its repairs afterwards."""

    verdict: Verdict
    record: RepairRecord | None

    @property
    def is_repaired(self) -> bool:
        """Whether it is put right, or was so just now."""
        match self.verdict:
            case Verdict.REPAIR:
                return True
            case Verdict.REPORT:
                return self.record is not None
            case Verdict.GIVE_UP:
                return False


NO_STATE = PropertyState()
# A property of a mailbox, group or site.
Place: TypeAlias = tuple[UUID, str]
PREFIXES = {
    RequestKind.SHARED: "mailbox.",
    RequestKind.EQUIPMENT: "mailbox.",
    RequestKind.ROOM: "mailbox.",
    RequestKind.GROUP: "group.",
    RequestKind.TEAM: "group.",
    RequestKind.ASSIGNMENT: "assignment.",
}
DRIFT = Actor(ActorType.SYSTEM, None, "Drift")


@dataclass(frozen=True, slots=True)
class JudgedDifference:
    """A difference with its decision. `fault` says why a repair failed."""

    comparison: Comparison
    difference: Difference
    judgement: Judgement
    fault: OutsideFault | None = None

    @property
    def place(self) -> Place:
        """The property."""
        return self.comparison.id, self.difference.name.path

    @property
    def found(self) -> Iterator[Finding]:
        """List the findings of the difference."""
        managed = self.comparison.managed
        refusal = self.fault.detail if isinstance(self.fault, Rejected) else None
        repaired = self.judgement.is_repaired and refusal is None
        yield drift_finding(managed, self.difference, repaired=repaired, refusal=refusal)
        if self.judgement.verdict is Verdict.GIVE_UP:
            yield unstable_finding(managed, self.difference)


@dataclass(frozen=True, slots=True)
class Page:
    """Managed objects of one kind in a check.

    `names` are their properties, and `states` the stored states of these. `comparisons` precede the repairs, `after`
    follows
    them.
    """

    tenant: Tenant
    names: Sequence[DriftProperty]
    states: Mapping[Place, PropertyState]
    comparisons: Sequence[Comparison]
    after: Sequence[Comparison]
    judged: Sequence[JudgedDifference]

    @property
    def paths(self) -> Sequence[str]:
        """The properties, as findings name them."""
        return [name.path for name in self.names]

    @property
    def planned(self) -> Sequence[PlannedRepair]:
        """Return the differences to repair, by object."""
        repairs: dict[UUID, list[Difference]] = {}
        for each in self.judged:
            if each.judgement.verdict is Verdict.REPAIR:
                repairs.setdefault(each.comparison.id, []).append(each.difference)
        return [(comparison, repairs[comparison.id]) for comparison in self.comparisons if comparison.id in repairs]

    @property
    def announced_findings(self) -> Sequence[Finding]:
        """Return the findings of repairs that are about to be made."""
        return [found for each in self.judged if each.judgement.verdict is Verdict.REPAIR for found in each.found]

    @property
    def found(self) -> Sequence[Finding]:
        """Return the findings of properties that still drift."""
        differing = self._differing
        return [found for each in self.judged if each.place in differing for found in each.found]

    @property
    def repaired(self) -> Collection[Place]:
        """Return properties whose repair this check observes.

        The repair may be of an earlier check that was interrupted or observed the property too soon.
        """
        said, differing = self.tenant.repair_properties, self._differing
        compared = {name.path for name in self.names if treatment_of(name, said) is not Treatment.IGNORED}
        shown = self._shown
        return {
            (id_, path)
            for (id_, path), each in self.states.items()
            if each.record is not None and each.record.is_in_progress and id_ in shown and path in compared
        } - differing

    def records(self, *, now: datetime) -> Mapping[Place, RepairRecord | None]:
        """Return the new records of repairs.

        A failed repair does not count. For a missing object the result of a repair is unknown, so its record stays.
        """
        shown = self._shown
        unchanged = {
            place: record_without_difference(each, now=now) for place, each in self.states.items() if place[0] in shown
        }
        hidden = {comparison.id for comparison in self.after if comparison.observed is None}
        unseen = {place: each.record for place, each in self.states.items() if place[0] in hidden}
        differing = self._differing
        judged = {
            each.place: self._record(each, is_right=each.place not in differing and each.comparison.id in shown)
            for each in self.judged
        }
        records = {**unchanged, **unseen, **judged}
        recorded = {place for place, each in self.states.items() if each.record is not None}
        return {place: record for place, record in records.items() if record is not None or place in recorded}

    def announcing(self, *, now: datetime) -> "Page":
        """Mark the planned repairs as announced."""
        repairs = [each for each in self.judged if each.judgement.verdict is Verdict.REPAIR]
        states = {
            each.place: announce(each.difference, self.states.get(each.place, NO_STATE), now=now) for each in repairs
        }
        return replace(self, states={**self.states, **states})

    @property
    def announced_records(self) -> Mapping[Place, RepairRecord | None]:
        """Return the records to save before the repairs are made."""
        repaired = {each.place for each in self.judged if each.judgement.verdict is Verdict.REPAIR}
        return {place: each.record for place, each in self.states.items() if place in repaired}

    def judge_again(self, states: Mapping[Place, PropertyState], *, now: datetime) -> "Page":
        """Decide again with the current states."""
        return replace(self, states=states, judged=judge_all(self.tenant, states, self.comparisons, now=now))

    def faulted(self, faults: Mapping[Place, OutsideFault | None], after: Mapping[UUID, Comparison]) -> "Page":
        """Add the faults of repairs and the observations after them."""
        return replace(
            self,
            judged=[replace(each, fault=faults.get(each.place)) for each in self.judged],
            after=[after.get(comparison.id, comparison) for comparison in self.comparisons],
        )

    def trusting_repairs(self, settles_after: Mapping[DriftProperty, timedelta]) -> "Page":
        """Omit repaired differences that the directory may show for some time."""
        made = {
            each.place
            for each in self.judged
            if each.judgement.verdict is Verdict.REPAIR
            and each.fault is None
            and settles_after.get(each.difference.name, timedelta(0))
        }
        after = [
            replace(one, differences=tuple([each for each in one.differences if (one.id, each.name.path) not in made]))
            for one in self.after
        ]
        return replace(self, after=after)

    def without(self, gone: Collection[UUID]) -> "Page":
        """The page without these."""
        return replace(
            self,
            comparisons=[comparison for comparison in self.comparisons if comparison.id not in gone],
            after=[comparison for comparison in self.after if comparison.id not in gone],
            judged=[each for each in self.judged if each.comparison.id not in gone],
        )

    @property
    def _shown(self) -> frozenset[UUID]:
        return frozenset([comparison.id for comparison in self.after if comparison.observed is not None])

    @property
    def _differing(self) -> frozenset[Place]:
        return frozenset(
            [(comparison.id, each.name.path) for comparison in self.after for each in comparison.differences]
        )

    def _record(self, judged: JudgedDifference, *, is_right: bool) -> RepairRecord | None:
        record = judged.judgement.record
        if judged.fault is not None and not is_right:
            state = self.states.get(judged.place, NO_STATE)
            # Without an answer the result is unknown, so the repair stays announced.
            return undo_announcement(state) if isinstance(judged.fault, Rejected) else state.record
        if record is None or judged.judgement.verdict is Verdict.GIVE_UP:
            return record
        is_late = not is_right and (judged.judgement.verdict is Verdict.REPAIR or record.is_in_progress)
        return replace(record, is_in_progress=is_late)


DOES_NOT_HOLD = (
    "This was repaired twice and has drifted again. Find out who changes it. Accept this finding to have it repaired "
    "again."
)


def judge(
    difference: Difference, treatment: Treatment, state: PropertyState, *, repairs: bool, now: datetime
) -> Judgement:
    """Decide on a difference. `repairs` is true if the tenant repairs drift."""
    if treatment is not Treatment.MANAGED or not repairs or not difference.steps:
        return Judgement(Verdict.REPORT, None)
    if state.allows(difference.observed):
        return Judgement(Verdict.REPORT, None)
    record = counted_record(difference.digest, state, now=now)
    if record is None:
        return Judgement(Verdict.REPAIR, RepairRecord(1, difference.digest, now))
    if now - record.found_at < SHOWN_AFTER and not record.has_given_up:
        return Judgement(Verdict.REPORT, record)
    if record.repairs >= MOST_REPAIRS:
        return Judgement(Verdict.GIVE_UP, replace(record, found_at=now, has_given_up=True, is_in_progress=False))
    made = replace(record, repairs=record.repairs + 1, found_at=now, is_in_progress=False)
    return Judgement(Verdict.REPAIR, made)


def announce(difference: Difference, state: PropertyState, *, now: datetime) -> PropertyState:
    """Record an announced repair. It counts only once it is made."""
    record = state.record or RepairRecord(0, difference.digest, now)
    return replace(state, record=replace(record, is_in_progress=True))


def undo_announcement(state: PropertyState) -> RepairRecord | None:
    """Return the record if an announced repair was not made."""
    record = state.record
    return None if record is None or not record.repairs else replace(record, is_in_progress=False)


def counted_record(digest: str, state: PropertyState, *, now: datetime) -> RepairRecord | None:
    """Return the record of earlier repairs if it still counts.

    It does not count if it was released, if the desired value changed, or if the repair held.
    """
    record = state.record
    if record is None or state.is_released or record.digest != digest or has_held(record, now=now):
        return None
    return record if record.repairs else None


def has_held(record: RepairRecord, *, now: datetime) -> bool:
    """Return whether the repair held for long enough."""
    return now - record.found_at >= HOLDS_AFTER


def record_without_difference(state: PropertyState, *, now: datetime) -> RepairRecord | None:
    """Return the record of a property that does not drift at present."""
    record = undo_announcement(state)
    return None if record is None or state.is_released or has_held(record, now=now) else record


def judge_all(
    tenant: Tenant, states: Mapping[Place, PropertyState], comparisons: Sequence[Comparison], *, now: datetime
) -> Sequence[JudgedDifference]:
    """Decide on all differences."""
    return [
        JudgedDifference(
            comparison,
            each,
            judge(
                each,
                treatment_of(each.name, tenant.repair_properties),
                states.get((comparison.id, each.name.path), NO_STATE),
                repairs=tenant.repairs_drift,
                now=now,
            ),
        )
        for comparison in comparisons
        for each in comparison.differences
    ]


def settled(
    comparison: Comparison,
    states: Mapping[Place, PropertyState],
    settles_after: Mapping[DriftProperty, timedelta],
    *,
    now: datetime,
) -> Comparison:
    """Omit the differences in data that was written shortly before the observation.

    The directory may still show the older data. Requests, assignments and repairs write.
    """
    observed = comparison.observed
    seen_at = now if observed is None else observed.observed_at or now

    def is_settled(difference: Difference) -> bool:
        record = states.get((comparison.id, difference.name.path), NO_STATE).record
        repaired_at = record.found_at if record is not None and record.repairs else comparison.managed.since
        age = seen_at - max(comparison.managed.since, repaired_at)
        return age >= settles_after.get(difference.name, timedelta(0))

    return replace(comparison, differences=tuple(filter(is_settled, comparison.differences)))


def compared_paths(phase: RequestKind) -> Sequence[str]:
    """The properties that are compared in a phase, as findings name them."""
    return [name.path for name in compared_properties(phase)]


def compared_properties(phase: RequestKind) -> Sequence[DriftProperty]:
    """The properties that are compared in a phase."""
    return [name for name in DriftProperty if name.startswith(PREFIXES[phase])]


def drift_property(record: FindingRecord) -> DriftProperty | None:
    """Return the property of a finding of a drift check.

    Other findings have none.
    """
    if record.kind not in {FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD}:
        return None
    is_mailbox = isinstance(record.subject, FindingMailbox)
    phases = (RequestKind.SHARED,) if is_mailbox else (RequestKind.GROUP, RequestKind.ASSIGNMENT)
    return next((name for phase in phases for name in compared_properties(phase) if name.path == record.about), None)


def phase_of(name: DriftProperty) -> RequestKind:
    """Return a phase in which a property is compared."""
    return next(phase for phase, prefix in PREFIXES.items() if name.startswith(prefix))


def require_repairable(record: FindingRecord) -> DriftProperty:
    """Return the property to repair.

    Raises Conflict for a finding that is closed or that no repair changes.
    """
    name = drift_property(record)
    if name is None:
        detail = f"A finding of kind {record.kind} cannot be repaired. Only drift can."
        raise Conflict("stateDoesNotAllow", detail)
    if record.state in {FindingState.REPAIRED, FindingState.GONE}:
        raise Conflict("stateDoesNotAllow", f"A finding that is {record.state} cannot be repaired.")
    if not PROPERTIES[name].is_repairable:
        words = PROPERTIES[name].words
        detail = f"Chamberlain cannot repair {words}. Change it in the directory, or accept the finding."
        raise Conflict("stateDoesNotAllow", detail)
    return name


def require_no_repair(running: RequestId | None) -> None:
    """Raise Conflict if a request repairs the finding already."""
    if running is not None:
        detail = "A request repairs this finding already. Follow that request."
        raise Conflict("stateDoesNotAllow", detail, conflicting_id=str(running))


def repair_change(finding: FindingRecord, draft: RepairDraft) -> Change:
    """Build the audit entry of a requested repair."""
    return change_by(
        draft.editor,
        finding.subject.tenant_id,
        "finding.repair",
        audit_subject(finding),
        before={"state": finding.state, "observed": finding.observed},
        after={"wanted": finding.wanted, **draft.body},
        request_id=draft.request_id,
    )


def forget_history(states: Mapping[Place, PropertyState]) -> Mapping[Place, PropertyState]:
    """Return the states for a requested repair.

    Earlier repairs and acceptances do not count. An announced repair stays announced.
    """
    return {
        place: PropertyState(each.record and replace(each.record, repairs=0, has_given_up=False))
        for place, each in states.items()
    }


def change_of(repaired: ClosedFinding, trace_id: TraceId, request_id: RequestId | None) -> Change:
    """Build the audit entry of a repaired property.

    `request_id` is the request that asked for it, if any.
    """
    subject = repaired.subject
    return Change(
        tenant_id=subject.tenant_id,
        action=f"{subject.type}.repair",
        actor=DRIFT,
        client_id=None,
        subject=Subject(subject.type, subject.id, subject.display_name),
        before={repaired.about: repaired.observed},
        after={repaired.about: repaired.wanted},
        request_id=request_id,
        trace_id=trace_id,
    )


def drift_finding(managed: Managed, difference: Difference, *, repaired: bool, refusal: str | None) -> Finding:
    """Build the finding of a difference.

    `repaired` is true if it is being repaired. `refusal` is the directory's reason against the repair.
    """
    detail = difference.detail if refusal is None else f"{difference.detail} It could not be repaired: {refusal}"
    return Finding(
        subject=managed.subject,
        kind=FindingKind.DRIFT,
        source=FindingSource.DRIFT,
        about=difference.name.path,
        property=difference.name.path,
        wanted=difference.wanted,
        observed=difference.observed,
        detail=detail,
        action=REPAIR if repaired else None,
        request_id=managed.request_id,
    )


def unstable_finding(managed: Managed, difference: Difference) -> Finding:
    """That repairs of a property do not hold."""
    return Finding(
        subject=managed.subject,
        kind=FindingKind.REPAIR_DOES_NOT_HOLD,
        source=FindingSource.DRIFT,
        about=difference.name.path,
        property=difference.name.path,
        wanted=difference.wanted,
        observed=difference.observed,
        detail=f"{difference.detail} {DOES_NOT_HOLD}",
        request_id=managed.request_id,
    )
