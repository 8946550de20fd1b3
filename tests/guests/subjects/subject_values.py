# SPDX-License-Identifier: Apache-2.0
"""An observed group and its record."""

from uuid import UUID

from chamberlain.core.ids import GroupId, TemplateId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.subjects import ObservedSubject, SubjectType
from chamberlain.guests.models import Assignment
from chamberlain.guests.subjects.models import SubjectEntry, SubjectRecord
from tests.auth.editor_values import NOW
from tests.groups.group_values import REQUEST, TENANT

GROUP_ID = GroupId(UUID(int=1))
OBSERVED = ObservedSubject(
    tenant_id=TENANT,
    id=GROUP_ID,
    type=SubjectType.GROUP,
    display_name="Apollo",
    mail="apollo@estate.example",
    is_team=False,
    member_ship_type=MemberShipType.PRIVATE,
    request_id=REQUEST,
    template_id=None,
    policy_id=None,
    rules=None,
    site=None,
    guests=(),
    owners=1,
)
ENTRY = SubjectEntry(
    tenant_id=TENANT,
    id=GROUP_ID,
    type=SubjectType.GROUP,
    display_name="Apollo",
    mail="apollo@estate.example",
    is_team=False,
    member_ship_type=MemberShipType.PRIVATE,
    request_id=REQUEST,
    site_url=None,
    sharing=None,
    observed_at=NOW,
)
RECORD = SubjectRecord(
    entry=ENTRY,
    assignment=Assignment(TemplateId(UUID(int=2)), None),
    template_name="Partners",
    policy_name=None,
    generation=1,
    effects=(),
    open_findings=0,
    assignment_request_id=None,
    assigned_at=None,
    assigned_by=None,
)
