# SPDX-License-Identifier: Apache-2.0
"""A fake service of assignments with one group and one site."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Actor, Caller, require_match
from chamberlain.core.ids import GroupId, RequestId, TenantId
from chamberlain.core.paging import NamedPage, NamedPageWanted, NamePosition
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import Sharing, SubjectType
from chamberlain.guests.assignments.dry_run import AssignmentDryRun, nothing_to_do
from chamberlain.guests.assignments.models import assignment_after
from chamberlain.guests.assignments.rules import WantedAssignment
from chamberlain.guests.assignments.service import AssignmentService
from chamberlain.guests.models import Assignment
from chamberlain.guests.subjects.models import SubjectEntry, SubjectFilter, SubjectRecord, require_type, unknown_subject
from chamberlain.requests.models import begin_steps

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


class FakeAssignments(AssignmentService):
    """Keeps groups and sites in memory, by their ids."""

    def __init__(self) -> None:
        self.records: dict[GroupId, SubjectRecord] = {ALL_STAFF: group_record(), HANDBOOK: site_record()}
        self.filters: list[SubjectFilter] = []
        self.asked: list[WantedAssignment] = []

    async def list(self, caller: Caller, wanted: SubjectFilter, page: NamedPageWanted) -> NamedPage[SubjectRecord]:
        assert caller.tenant_id == ESTATE
        self.filters.append(wanted)
        found = [each for each in self.records.values() if each.entry.type is wanted.type]
        shown = found[: page.limit]
        more = len(found) > page.limit
        return NamedPage(shown, NamePosition(shown[-1].entry.display_name, shown[-1].entry.id) if more else None)

    async def read(self, caller: Caller, group_id: GroupId, wanted: SubjectType) -> SubjectRecord:
        assert caller.tenant_id == ESTATE
        record = self.records.get(group_id)
        if record is None:
            raise unknown_subject(wanted)
        require_type(record.entry.type, group_id, wanted)
        return record

    async def dry_run(self, caller: Caller, wanted: WantedAssignment) -> AssignmentDryRun:
        before = await self.read(caller, wanted.id, wanted.type)
        require_match(before.etag, wanted.edit, "group")
        return nothing_to_do(assignment_after(before.assignment, wanted.order))

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
