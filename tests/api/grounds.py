"""Groups and sites, for a house that keeps everything in memory: a group, a site, and a finding about the group."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.api.administration import Findings, Managed
from chamberlain.rules.acceptances import WantedAcceptance, accepted, present_finding
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.assignment_drafts import WantedAssignment
from chamberlain.rules.assignments import Assignment, assignment_after
from chamberlain.rules.callers import Actor, Caller
from chamberlain.rules.confirmations import confirmed_finding, require_open_review
from chamberlain.rules.edits import Editor, require_match
from chamberlain.rules.findings import FindingFilter, FindingKind, FindingRecord, FindingState, FindingSubject
from chamberlain.rules.groups import MemberShipType
from chamberlain.rules.guests import Sharing
from chamberlain.rules.ids import GroupId, RequestId, TenantId
from chamberlain.rules.pages import NamedPage, NamedPageWanted, NamePosition, Page, PageWanted, Position
from chamberlain.rules.plans import Step
from chamberlain.rules.requests import begin_steps
from chamberlain.rules.subject_records import SubjectEntry, SubjectFilter, SubjectRecord, no_such, require_type
from chamberlain.rules.subjects import SubjectType

ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
ALL_STAFF = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
HANDBOOK = GroupId(UUID("51730000-0000-4000-8000-000000000001"))
ASSIGNMENT_REQUEST = RequestId(UUID("3b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f12"))
OBSERVED_AT = datetime(2026, 11, 20, 9, 29, tzinfo=UTC)
ASSIGNED_AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def group_record() -> SubjectRecord:
    entry = SubjectEntry(
        tenant_id=ESTATE,
        id=ALL_STAFF,
        type=SubjectType.GROUP,
        display_name="All staff",
        mail="all-staff@estate.example",
        is_team=False,
        member_ship_type=MemberShipType.PRIVATE,
        request_id=None,
        site_url=None,
        sharing=None,
        observed_at=OBSERVED_AT,
    )
    return SubjectRecord(
        entry=entry,
        assignment=Assignment(),
        template_name=None,
        policy_name=None,
        generation=0,
        effects=(),
        open_findings=1,
        assignment_request_id=None,
        assigned_at=None,
        assigned_by=None,
    )


def site_record() -> SubjectRecord:
    group = group_record()
    entry = replace(
        group.entry,
        id=HANDBOOK,
        type=SubjectType.SITE,
        display_name="Handbook",
        mail=None,
        site_url="https://sites.estate.example/handbook",
        sharing=Sharing.EXISTING_GUESTS,
    )
    return replace(group, entry=entry, open_findings=0)


def finding_record() -> FindingRecord:
    return FindingRecord(
        id=UUID("f1d00000-0000-4000-8000-000000000001"),
        kind=FindingKind.GUEST_AGAINST_RULE,
        state=FindingState.OPEN,
        subject=FindingSubject(ESTATE, ALL_STAFF, SubjectType.GROUP, "All staff"),
        property="guests",
        wanted=None,
        observed={"id": "9e570000-0000-4000-8000-000000000001", "displayName": "Gil Hartmann", "mail": None},
        detail="Gil Hartmann is a guest, and guests are not allowed here.",
        policy_id=None,
        action=None,
        action_at=None,
        first_seen_at=ASSIGNED_AT,
        last_seen_at=ASSIGNED_AT,
    )


@dataclass
class Grounds:
    """Groups and sites by their ids. `refusal` is raised by every use case once it is set."""

    records: dict[GroupId, SubjectRecord] = field(
        default_factory=lambda: {ALL_STAFF: group_record(), HANDBOOK: site_record()}
    )
    findings: list[FindingRecord] = field(default_factory=lambda: [finding_record()])
    filters: list[SubjectFilter] = field(default_factory=list)
    finding_filters: list[FindingFilter] = field(default_factory=list)
    asked: list[WantedAssignment] = field(default_factory=list)
    confirmed: list[Act] = field(default_factory=list)
    refusal: Exception | None = None

    def services(self) -> Managed:
        return Managed(list=self.page, read=self.read, assign=self.assign)

    def finding_services(self) -> Findings:
        return Findings(list=self.list_findings, accept=self.accept_finding, confirm=self.confirm_finding)

    async def page(self, _caller: Caller, wanted: SubjectFilter, page: NamedPageWanted) -> NamedPage[SubjectRecord]:
        self._refuse()
        self.filters.append(wanted)
        found = [each for each in self.records.values() if each.entry.type is wanted.type]
        shown = found[: page.limit]
        more = len(found) > page.limit
        return NamedPage(shown, NamePosition(shown[-1].entry.display_name, shown[-1].entry.id) if more else None)

    async def read(self, _caller: Caller, group_id: GroupId, wanted: SubjectType) -> SubjectRecord:
        self._refuse()
        record = self.records.get(group_id)
        if record is None:
            raise no_such(wanted)
        require_type(record.entry.type, group_id, wanted)
        return record

    async def assign(self, caller: Caller, wanted: WantedAssignment) -> SubjectRecord:
        before = await self.read(caller, wanted.id, wanted.type)
        require_match(before.etag, wanted.edit, "group")
        self.asked.append(wanted)
        after = assignment_after(before.assignment, wanted.order)
        self.records[wanted.id] = replace(
            before,
            assignment=after,
            template_name="No guests" if after.template_id else None,
            policy_name="90 days" if after.policy_id else None,
            effects=begin_steps([Step.MARK_ASSIGNMENT]),
            assignment_request_id=ASSIGNMENT_REQUEST,
            assigned_at=ASSIGNED_AT,
            assigned_by=Actor(caller.type, caller.id, "Ada Achterberg"),
        )
        return self.records[wanted.id]

    async def list_findings(self, _caller: Caller, wanted: FindingFilter, page: PageWanted) -> Page[FindingRecord]:
        self._refuse()
        self.finding_filters.append(wanted)
        shown = self.findings[: page.limit]
        more = len(self.findings) > page.limit
        return Page(shown, Position(shown[-1].first_seen_at, shown[-1].id) if more else None)

    async def accept_finding(
        self,
        caller: Caller,
        finding_id: UUID,
        wanted: WantedAcceptance,
        act: Act,
        render: Callable[[FindingRecord], bytes],
    ) -> KeptAnswer:
        self._refuse()
        before = present_finding(next((each for each in self.findings if each.id == finding_id), None))
        editor = Editor(
            Actor(caller.type, caller.id, "Ada Achterberg"), caller.client_id, act.trace_id, act.client_address
        )
        return KeptAnswer(render(accepted(before, wanted, editor, now=ASSIGNED_AT)))

    async def confirm_finding(
        self, _caller: Caller, finding_id: UUID, act: Act, render: Callable[[FindingRecord], bytes]
    ) -> KeptAnswer:
        self._refuse()
        self.confirmed.append(act)
        before = present_finding(next((each for each in self.findings if each.id == finding_id), None))
        require_open_review(before)
        return KeptAnswer(render(confirmed_finding(before, now=ASSIGNED_AT)))

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal
