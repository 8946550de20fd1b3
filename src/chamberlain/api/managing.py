"""What the endpoints of groups and of sites have in common: filters, the answer with its version, the change."""

from collections.abc import Sequence
from uuid import UUID

from chamberlain.api.administered import CACHE, edit_of
from chamberlain.api.calls import Call
from chamberlain.api.endpoint import Parameter
from chamberlain.api.paging import PARAMETERS, named_page_wanted, next_cursor
from chamberlain.api.services import Services
from chamberlain.rules.assignment_drafts import WantedAssignment
from chamberlain.rules.ids import GroupId, PolicyId, TemplateId
from chamberlain.rules.subject_records import SubjectFilter, SubjectRecord
from chamberlain.rules.subjects import SubjectType
from chamberlain.shapes.assignments import AssignmentBody, to_assignment_order

TAG = "Groups and sites"
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
ASSIGN_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible")
VERSIONED = {**CACHE, "ETag": "Names what is assigned, for `If-Match`; it changes with the two ids only."}
ASSIGNING = (
    "A field that is not sent stays as it is; the all-zero UUID clears the field that it is sent for; `null` is "
    "refused. What is so already changes nothing. The answer comes when the assignment is durable; its `effects` in "
    "the directory follow, as steps of the request `assignmentRequestId`."
)
ASSIGNED_FOR_EXAMPLE = {"templateId": "7e000000-0000-4000-8000-000000000021"}
_ID = {"type": "string", "format": "uuid"}
FILTERS = (
    Parameter("assigned", {"type": "boolean"}, "Whether a guest template or policy is assigned."),
    Parameter("templateId", _ID, "Only those with this guest template."),
    Parameter("policyId", _ID, "Only those with this guest policy."),
    Parameter(
        "q",
        {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "Only those whose display name begins so, in either letter case.",
    ),
    *PARAMETERS,
)


async def page_of(
    services: Services, call: Call[None], subject_type: SubjectType
) -> tuple[Sequence[SubjectRecord], str | None]:
    """The groups or sites that a call asks for, and the cursor of those that follow."""
    page = await services.managed.list(call.caller, _filter_of(call, subject_type), named_page_wanted(call))
    return page.items, next_cursor(call, page.next)


def wanted_of(call: Call[AssignmentBody], group_id: GroupId, subject_type: SubjectType) -> WantedAssignment:
    """What a call asks to be assigned."""
    return WantedAssignment(group_id, subject_type, to_assignment_order(call.body), call.raw, edit_of(call))


def _filter_of(call: Call[None], subject_type: SubjectType) -> SubjectFilter:
    query = call.query
    return SubjectFilter(
        type=subject_type,
        is_assigned=query["assigned"] == "true" if "assigned" in query else None,
        template_id=TemplateId(UUID(query["templateId"])) if "templateId" in query else None,
        policy_id=PolicyId(UUID(query["policyId"])) if "policyId" in query else None,
        prefix=query.get("q"),
    )
