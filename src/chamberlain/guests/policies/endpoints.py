# SPDX-License-Identifier: Apache-2.0
"""Guest policies are administered here."""

from collections.abc import Mapping

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import PolicyId
from chamberlain.guests.policies.models import PolicyRecord
from chamberlain.guests.policies.schema import POLICY, PolicyBody
from chamberlain.guests.policies.service import PolicyService
from chamberlain.guests.policies.wire import (
    SIMULATION,
    Policy,
    SimulatedPolicy,
    SimulationBody,
    policy_of,
    simulated_policy_of,
    to_simulation_request,
)
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import Call, creating_act_of
from chamberlain.http.resource import CACHE, IF_MATCH, VERSIONED, edit_of, link_to, listed, made, making, removed, shown
from chamberlain.http.responses import Answer


class PolicyPage(Struct, rename="camel", frozen=True):
    """Some policies, newest first; `nextCursor` is null on the last page."""

    items: tuple[Policy, ...]
    next_cursor: str | None


async def list_(policies: PolicyService, call: Call[None]) -> Answer:
    """List the policies of the tenant, including inactive ones."""
    page = await policies.list(call.caller, page_wanted(call))
    return listed(json.encode(PolicyPage(tuple(map(policy_of, page.items)), next_cursor(call, page.next))))


async def create(policies: PolicyService, call: Call[PolicyBody]) -> Answer:
    """Create a policy."""
    answer = await policies.create(call.caller, call.body, creating_act_of(call), _render)
    return made(call.http, "/admin/collab/v1/policies/", answer)


async def read(policies: PolicyService, call: Call[None]) -> Answer:
    """Read a policy."""
    return _shown(await policies.read(call.caller, PolicyId(call.ids["policyId"])))


async def replace(policies: PolicyService, call: Call[PolicyBody]) -> Answer:
    """Replace a policy."""
    policy_id = PolicyId(call.ids["policyId"])
    return _shown(await policies.replace(call.caller, policy_id, call.body, edit_of(call)))


async def delete(policies: PolicyService, call: Call[None]) -> Answer:
    """Remove a policy."""
    await policies.delete(call.caller, PolicyId(call.ids["policyId"]), edit_of(call))
    return removed()


async def simulate(policies: PolicyService, call: Call[SimulationBody]) -> Answer:
    """Simulate a policy from now on."""
    policy_id = PolicyId(call.ids["policyId"])
    simulation = await policies.simulate(call.caller, policy_id, to_simulation_request(call.body))
    return listed(json.encode(simulated_policy_of(simulation)))


def _render(record: PolicyRecord) -> bytes:
    return json.encode(policy_of(record))


def _shown(record: PolicyRecord) -> Answer:
    return shown(_render(record), record.etag)


_TAG = "Guest policies"
_ADDED = (
    "Fields that the service adds (`id`, `createdAt`, `createdBy`, `updatedAt`) are ignored, so that you can edit "
    "and send a policy that you have read."
)

ABOUT_LIST = About(
    id="listPolicies",
    tag=_TAG,
    summary="List guest policies, newest first",
    description="All policies, active or not. For administrators of the tenant.",
)
ABOUT_CREATE = About(
    id="createPolicy",
    tag=_TAG,
    summary="Create a guest policy",
    description="A missing rule does not apply. `reminderDays` are days before the action, within the period of the "
    f"rule. {_ADDED}",
    example={"name": "90 days", "expiry": {"afterDays": 90, "reminderDays": [14, 7, 1], "action": "remove"}},
)
ABOUT_READ = About(id="readPolicy", tag=_TAG, summary="Read a guest policy")
ABOUT_REPLACE = About(
    id="replacePolicy",
    tag=_TAG,
    summary="Replace a guest policy",
    description="Replaces all rules: a missing rule no longer applies. An inactive policy stays assigned, but cannot "
    f"be assigned again. {_ADDED}",
    example={"name": "90 days", "active": False},
)
ABOUT_DELETE = About(
    id="deletePolicy",
    tag=_TAG,
    summary="Delete a guest policy",
    description="A policy that is assigned, or named by a template of groups or teams, cannot be deleted. "
    "`conflictingId` is that template.",
)
ABOUT_SIMULATE = About(
    id="simulatePolicy",
    tag=_TAG,
    summary="Simulate a guest policy",
    description="A dry run from now on over the longest period of its rules, for the given groups and sites, or for "
    "all. Timers of an assigned policy continue, and others would start now. It assumes that no guest is confirmed "
    "or active, and that the directory takes every action. Nothing is changed, and no notice is sent. The body may "
    "be left out.",
    example={"groupIds": ["94000000-0000-4000-8000-000000000001"]},
)

_EXAMPLE: Mapping[str, object] = {
    "id": "90110000-0000-4000-8000-000000000002",
    "name": "Yearly review",
    "description": "",
    "active": True,
    "expiry": None,
    "review": {
        "everyDays": 365,
        "answerDays": 14,
        "confirmedBy": "owners",
        "reminderDays": [14, 7, 1],
        "action": "disable",
    },
    "inactivity": {"afterDays": 120, "reminderDays": [7], "action": "notify"},
    "minimumOwners": {"count": 2, "reminderDays": [], "action": "notify"},
    "createdAt": "2026-11-20T09:00:00.000Z",
    "createdBy": {"type": "system", "id": None, "displayName": "Example estate"},
    "updatedAt": "2026-11-20T09:00:00.000Z",
}

LISTED = (Success(200, "A page of policies.", PolicyPage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
CREATED = (making(Policy, _EXAMPLE, {"policy": link_to("readPolicy", "policyId", "The policy.")}),)
READ = (Success(200, "The policy.", Policy, VERSIONED, _EXAMPLE),)
REPLACED = (Success(200, "The policy after the change.", Policy, VERSIONED, _EXAMPLE),)
DELETED = (Success(204, "The policy is deleted."),)
_OCCURRENCE: Mapping[str, object] = {
    "at": "2027-02-18T09:30:00.000Z",
    "type": "action",
    "kind": "guestExpired",
    "subject": {"type": "group", "id": "94000000-0000-4000-8000-000000000001", "displayName": "All staff"},
    "guest": {
        "id": "9e570000-0000-4000-8000-000000000001",
        "displayName": "Gil Hartmann",
        "mail": "gil@partner.example",
    },
    "detail": None,
    "action": "remove",
    "actionAt": "2027-02-18T09:30:00.000Z",
}
_SIMULATED: Mapping[str, object] = {
    "policyId": "90110000-0000-4000-8000-000000000001",
    "from": "2026-11-20T09:30:00.000Z",
    "to": "2027-02-18T09:30:00.000Z",
    "subjects": 1,
    "guests": 1,
    "counts": {"reminders": 3, "findings": {"guestExpired": 1}, "actions": {"remove": 1}},
    "items": [_OCCURRENCE],
    "isWhole": False,
}
SIMULATED = (Success(200, "The occurrences, earliest first.", SimulatedPolicy, CACHE, _SIMULATED),)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
CREATE_CODES = ("notAdministrator", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress")
READ_CODES = ("notAdministrator", "notFound")
REPLACE_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible")
DELETE_CODES = ("notAdministrator", "notFound", "etagStale", "inUse")
SIMULATE_CODES = ("notAdministrator", "notFound", "notPossible", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(PolicyService, (
    Endpoint("GET", "/admin/collab/v1/policies/", list_, Operation.ADMINISTER_COLLAB, ABOUT_LIST,
             LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/collab/v1/policies/", create, Operation.ADMINISTER_COLLAB,
             ABOUT_CREATE, CREATED, shape=POLICY, codes=CREATE_CODES),
    Endpoint("GET", "/admin/collab/v1/policies/{policyId}/", read, Operation.ADMINISTER_COLLAB,
             ABOUT_READ, READ, codes=READ_CODES),
    Endpoint("PUT", "/admin/collab/v1/policies/{policyId}/", replace, Operation.ADMINISTER_COLLAB,
             ABOUT_REPLACE, REPLACED, shape=POLICY, headers=(IF_MATCH,),
             codes=REPLACE_CODES),
    Endpoint("DELETE", "/admin/collab/v1/policies/{policyId}/", delete, Operation.ADMINISTER_COLLAB,
             ABOUT_DELETE, DELETED, headers=(IF_MATCH,), codes=DELETE_CODES),
    Endpoint("POST", "/admin/collab/v1/policies/{policyId}/simulate/", simulate, Operation.ADMINISTER_COLLAB,
             ABOUT_SIMULATE, SIMULATED, shape=SIMULATION, codes=SIMULATE_CODES,
             body_is_optional=True),
))
# fmt: on
