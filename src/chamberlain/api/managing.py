"""What the endpoints of groups and of sites have in common: filters, the answer with its version, the change."""

from uuid import UUID

from chamberlain.api.calls import Answer, Call
from chamberlain.api.endpoint import Parameter
from chamberlain.api.etags import seen_versions
from chamberlain.api.paging import PARAMETERS
from chamberlain.rules.assignment_drafts import WantedAssignment
from chamberlain.rules.edits import Edit
from chamberlain.rules.ids import GroupId, PolicyId, TemplateId
from chamberlain.rules.subject_records import SubjectFilter, SubjectRecord
from chamberlain.rules.subjects import SubjectType
from chamberlain.shapes.assignments import AssignmentBody, to_assignment_order

NO_STORE = (b"cache-control", b"no-store")
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


def filter_of(call: Call[None], subject_type: SubjectType) -> SubjectFilter:
    """Which groups or sites a call asks for."""
    query = call.query
    return SubjectFilter(
        type=subject_type,
        is_assigned=query["assigned"] == "true" if "assigned" in query else None,
        template_id=TemplateId(UUID(query["templateId"])) if "templateId" in query else None,
        policy_id=PolicyId(UUID(query["policyId"])) if "policyId" in query else None,
        prefix=query.get("q"),
    )


def wanted_of(call: Call[AssignmentBody], group_id: GroupId, subject_type: SubjectType) -> WantedAssignment:
    """What a call asks to be assigned."""
    order = to_assignment_order(call.body)
    return WantedAssignment(group_id, subject_type, order, call.raw, Edit(seen_versions(call.headers), call.trace_id))


def shown(record: SubjectRecord, body: bytes) -> Answer:
    """A group or site with the version of its assignment."""
    return Answer(200, body, (NO_STORE, (b"etag", record.etag.encode("ascii"))))
