# SPDX-License-Identifier: Apache-2.0
"""Assigning over HTTP, with the real use case behind: every value of both fields, for groups and sites, by every kind
of caller."""

from collections.abc import AsyncIterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product

import httpx2
import pytest

from chamberlain.app.routes import create_app
from chamberlain.auth.models import ActorType, Caller
from chamberlain.configuration.files import Configuration
from chamberlain.directory.steps import Step, title
from tests.databases import Databases
from tests.estates import BEN, OTHER_HOUSE, PROJECT_GROUP, ZOE, open_estate
from tests.example import configuration_in, example_document
from tests.guests.assignments.fingerprints import fingerprint
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    YEARLY_REVIEW,
    ZERO,
    GuestFixture,
    guest_fixture,
)
from tests.guests.assignments.test_assignment_apply import STEPS
from tests.http.http_fixture import ADA, BASE, PREFIX, USER, HttpFixture

INACTIVE_TEMPLATE = "7e000000-0000-4000-8000-0000000000e4"
INACTIVE_POLICY = "90110000-0000-4000-8000-0000000000e4"
UNKNOWN = "0000dead-0000-4000-8000-000000000000"
PATHS = {
    "group": f"/admin/collab/v1/manage/groups/{ALL_STAFF}/",
    "site": f"/admin/collab/v1/manage/spo/{HANDBOOK}/",
}

# The sent value of a field, and the code of its refusal. `absent` sends nothing.
ABSENT = object()
TEMPLATES: Mapping[str, tuple[object, str | None]] = {
    "absent": (ABSENT, None),
    "zero": (ZERO, None),
    "known": (str(NO_GUESTS), None),
    "other": (str(PARTNERS).upper(), None),
    "unknown": (UNKNOWN, "templateUnknown"),
    "inactive": (INACTIVE_TEMPLATE, "templateInactive"),
    "wrong kind": (str(PROJECT_GROUP), "templateOfOtherKind"),
    "null": (None, "nullNotAllowed"),
    "malformed": ("7e000000", "malformedId"),
}
POLICIES: Mapping[str, tuple[object, str | None]] = {
    "absent": (ABSENT, None),
    "zero": (ZERO, None),
    "known": (str(NINETY_DAYS), None),
    "other": (str(YEARLY_REVIEW), None),
    "unknown": (UNKNOWN, "policyUnknown"),
    "inactive": (INACTIVE_POLICY, "policyInactive"),
    "wrong kind": (str(NO_GUESTS), "policyUnknown"),
    "null": (None, "nullNotAllowed"),
    "malformed": ("{90110000-0000-4000-8000-000000000001}", "malformedId"),
}
OF_FORM = {"nullNotAllowed", "malformedId"}
COMBINATIONS = list(product(TEMPLATES, POLICIES))

CONFIG = f"{PREFIX}/admin/Config.ReadWrite.All"
APPLICATION = replace(USER, type=ActorType.APPLICATION)
CALLERS = {
    "delegated administrator": replace(USER, permissions=frozenset({CONFIG})),
    "delegated other": replace(USER, id=BEN, permissions=frozenset({CONFIG})),
    "delegated without it": USER,
    "Manage": replace(APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Collab.Manage.ReadWrite.All"})),
    "Config": replace(APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Collab.Config.ReadWrite.All"})),
    "no permission": replace(APPLICATION, permissions=frozenset()),
    "mail alone": replace(APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Mail.Manage.ReadWrite.All"})),
    "delegated name": replace(APPLICATION, permissions=frozenset({CONFIG})),
    "administrator of another tenant": replace(USER, tenant_id=OTHER_HOUSE, id=ZOE, permissions=frozenset({CONFIG})),
    "other tenant": replace(
        APPLICATION, tenant_id=OTHER_HOUSE, permissions=frozenset({f"{PREFIX}/admin/Collab.Manage.ReadWrite.All"})
    ),
}


@dataclass
class AssignmentClient:
    """A client of an API with an estate behind it."""

    guest_rules: GuestFixture
    client: httpx2.AsyncClient

    async def patch(self, caller: str, subject: str, body: object, **headers: str) -> httpx2.Response:
        sent = {"authorization": f"Bearer {caller}", **{name.replace("_", "-"): each for name, each in headers.items()}}
        return await self.client.patch(PATHS[subject], json=body, headers=sent)

    async def get(self, path: str, caller: str = "delegated administrator") -> httpx2.Response:
        return await self.client.get(path, headers={"authorization": f"Bearer {caller}"})


def configuration() -> Configuration:
    """The example estate with a guest template and a policy that are not in use; Zoe administers the other tenant."""
    document = example_document()
    estate, other = document["tenants"]
    other["administrators"] = {"users": [str(ZOE)]}
    (old,) = [deepcopy(each) for each in estate["templates"] if each["id"] == str(NO_GUESTS)]
    estate["templates"].append({**old, "id": INACTIVE_TEMPLATE, "name": "Old rules", "active": False})
    estate["policies"].append({"id": INACTIVE_POLICY, "name": "Old policy", "active": False})
    return configuration_in(document)


@pytest.fixture
async def assignment_client(databases: Databases) -> AsyncIterator[AssignmentClient]:
    guest_rules = guest_fixture(await open_estate(databases, configuration()))

    async def verify(authorization: str | None) -> Caller:
        return CALLERS[str(authorization).removeprefix("Bearer ")]

    http_fixture = HttpFixture()
    http = replace(http_fixture.http(), verify=verify, require_allowed=guest_rules.assignments.authorization.require)
    services = [guest_rules.assignments, guest_rules.findings, *http_fixture.services()]
    transport = httpx2.ASGITransport(app=create_app(http, services))
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        yield AssignmentClient(guest_rules, client)


def body_of(template: str, policy: str) -> dict[str, object]:
    sent = {"templateId": TEMPLATES[template][0], "policyId": POLICIES[policy][0]}
    return {name: value for name, value in sent.items() if value is not ABSENT}


def faults_of(template: str, policy: str) -> dict[str, str]:
    """Pointers and codes that the answer names: faults of form alone when there is one."""
    named = {"/templateId": TEMPLATES[template][1], "/policyId": POLICIES[policy][1]}
    codes = {pointer: code for pointer, code in named.items() if code is not None}
    return {pointer: code for pointer, code in codes.items() if code in OF_FORM} or codes


def after(before: dict[str, object], body: Mapping[str, object]) -> dict[str, object]:
    sent = {name: None if value == ZERO else str(value).lower() for name, value in body.items()}
    return {**before, **sent}


def ids_of(record: dict[str, object]) -> dict[str, object]:
    return {name: record[name] for name in ("templateId", "policyId")}


@pytest.mark.parametrize("subject", PATHS)
@pytest.mark.parametrize("caller", ["delegated administrator", "Manage", "Config"])
async def test_it_works_for_every_value_of_both_fields(
    assignment_client: AssignmentClient, caller: str, subject: str
) -> None:
    now: dict[str, object] = {"templateId": None, "policyId": None}
    changes = 0
    for template, policy in COMBINATIONS:
        body, faults = body_of(template, policy), faults_of(template, policy)

        answer = await assignment_client.patch(caller, subject, body)

        told = answer.json()
        case = (template, policy, told)
        if faults:
            assert answer.status_code == (400 if OF_FORM.intersection(faults.values()) else 422), case
            assert {each["pointer"]: each["code"] for each in told["errors"]} == faults, case
            assert ids_of((await assignment_client.get(PATHS[subject])).json()) == now, case
        else:
            assert answer.status_code == 200, case
            changes += after(now, body) != now
            now = after(now, body)
            assert ids_of(told) == now, case
            assert answer.headers["etag"] == (await assignment_client.get(PATHS[subject])).headers["etag"]
            assert (await assignment_client.get(PATHS[subject])).json() == told, case
    traces = await assignment_client.guest_rules.traces()
    assert changes > 5
    # Each change has one of each, and nothing else has any.
    assert [sum(each[0] == kind for each in traces) for kind in ("request", "job", "audit", "event")] == [changes] * 4


@pytest.mark.parametrize("subject", PATHS)
@pytest.mark.parametrize(
    ("caller", "status", "code"),
    [
        ("delegated other", 403, "notAdministrator"),
        ("delegated without it", 403, "insufficientScope"),
        ("no permission", 403, "insufficientScope"),
        ("mail alone", 403, "insufficientScope"),
        ("delegated name", 403, "insufficientScope"),
        ("administrator of another tenant", 404, "notFound"),
        ("other tenant", 404, "notFound"),
    ],
)
async def test_it_rejects_every_other_caller(
    assignment_client: AssignmentClient, caller: str, status: int, code: str, subject: str
) -> None:
    for template, policy in COMBINATIONS:
        answer = await assignment_client.patch(caller, subject, body_of(template, policy))

        # A caller without permission is refused before any fault of the body.
        malformed = OF_FORM.intersection(faults_of(template, policy).values()) and status == 404
        expected = (400, "invalidBody") if malformed else (status, code)
        assert (answer.status_code, answer.json()["code"]) == expected, (template, policy)
    assert await assignment_client.guest_rules.traces() == []
    read = await assignment_client.get(PATHS[subject], caller)
    assert (read.status_code, read.json()["code"]) == (status, code)


async def test_a_new_assignment_is_answered_as_the_page_shows(assignment_client: AssignmentClient) -> None:
    answer = await assignment_client.patch("delegated administrator", "group", {"templateId": str(NO_GUESTS)})

    told = answer.json()
    assert answer.headers["cache-control"] == "no-store"
    assert told.pop("assignmentRequestId") is not None
    assert told == {
        "id": str(ALL_STAFF),
        "tenantId": "e57a7e00-0000-4000-8000-000000000001",
        "displayName": "All staff",
        "mail": "all-staff@estate.example",
        "isTeam": False,
        "memberShipType": 0,
        "templateId": str(NO_GUESTS),
        "policyId": None,
        "template": {"id": str(NO_GUESTS), "name": "No guests"},
        "policy": None,
        "effects": [
            {
                "name": name,
                "state": "pending",
                "reason": None,
                "nextAttemptAt": None,
                "reasonCode": None,
                "reasonValues": None,
            }
            for name in ("markAssignment", "setGuestAccess", "setGuestDomains")
        ],
        "openFindings": 0,
        "requestId": None,
        "metadata": {},
        "assignedAt": "2026-11-20T09:30:00.000Z",
        "assignedBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
        "observedAt": "2026-11-20T09:30:00.000Z",
    }


async def test_a_site_is_answered_with_its_own_members(assignment_client: AssignmentClient) -> None:
    told = (await assignment_client.patch("Manage", "site", {"policyId": str(NINETY_DAYS)})).json()

    assert told["id"] == told["securityGroupId"] == str(HANDBOOK)
    assert (told["siteUrl"], told["sharingCapability"]) == ("https://sites.estate.example/handbook", "existingGuests")
    assert told["policy"] == {"id": str(NINETY_DAYS), "name": "90 days"}
    assert [each["name"] for each in told["effects"]] == ["markAssignment"]
    assert not {"isTeam", "memberShipType", "mail", "requestId"} & told.keys()


async def test_it_rejects_a_stale_version(assignment_client: AssignmentClient) -> None:
    first = await assignment_client.patch("Manage", "group", {"policyId": str(NINETY_DAYS)})
    await assignment_client.patch("Manage", "group", {"templateId": str(NO_GUESTS)})

    stale = await assignment_client.patch("Manage", "group", {"templateId": ZERO}, if_match=first.headers["etag"])
    # Before what is sent is looked at: a stale change is not worth it.
    and_bad = await assignment_client.patch("Manage", "group", {"templateId": UNKNOWN}, if_match=first.headers["etag"])
    unmoved = await assignment_client.patch("Manage", "group", {}, if_match=first.headers["etag"])
    current = (await assignment_client.get(PATHS["group"])).headers["etag"]
    good = await assignment_client.patch("Manage", "group", {"templateId": ZERO}, if_match=f'"x", {current}')

    assert [each.status_code for each in (stale, and_bad, unmoved, good)] == [412, 412, 412, 200]
    assert stale.json()["code"] == "etagStale"
    assert good.headers["etag"] == first.headers["etag"]


async def test_each_kind_is_found_at_its_own_path_alone(assignment_client: AssignmentClient) -> None:
    paths = {
        f"/admin/collab/v1/manage/groups/{HANDBOOK}/": f"/admin/collab/v1/manage/spo/{HANDBOOK}/",
        f"/admin/collab/v1/manage/spo/{ALL_STAFF}/": f"/admin/collab/v1/manage/groups/{ALL_STAFF}/",
    }
    for wrong, right in paths.items():
        for answer in (
            await assignment_client.get(wrong),
            await assignment_client.client.patch(wrong, json={}, headers={"authorization": "Bearer Manage"}),
        ):
            assert answer.status_code == 404
            assert right in answer.json()["detail"]
    for path in ("groups", "spo"):
        answer = await assignment_client.get(f"/admin/collab/v1/manage/{path}/{UNKNOWN}/")
        assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


async def test_lists_show_what_is_assigned(assignment_client: AssignmentClient) -> None:
    await assignment_client.guest_rules.discover()
    await assignment_client.patch("Manage", "group", {"templateId": str(NO_GUESTS)})

    groups = (await assignment_client.get("/admin/collab/v1/manage/groups/")).json()
    sites = (await assignment_client.get("/admin/collab/v1/manage/spo/?limit=1")).json()
    more = (await assignment_client.get(f"/admin/collab/v1/manage/spo/?limit=1&cursor={sites['nextCursor']}")).json()
    assigned = (
        await assignment_client.get(f"/admin/collab/v1/manage/groups/?assigned=true&templateId={NO_GUESTS}&q=all")
    ).json()
    none = (await assignment_client.get("/admin/collab/v1/manage/spo/?assigned=true")).json()
    query = "metadataKey=costCentre&metadataValue=%34%37%31%31"
    by_metadata = (await assignment_client.get(f"/admin/collab/v1/manage/groups/?{query}")).json()
    of_sites = await assignment_client.get(f"/admin/collab/v1/manage/spo/?{query}")

    assert [each["displayName"] for each in groups["items"]] == ["All staff"]
    assert [each["displayName"] for each in (*sites["items"], *more["items"])] == ["Handbook", "Suppliers"]
    assert more["nextCursor"] is None
    assert [each["template"]["name"] for each in assigned["items"]] == ["No guests"]
    assert none == by_metadata == {"items": [], "nextCursor": None}
    assert (of_sites.status_code, of_sites.json()["code"]) == (400, "unknownParameter")
    assert groups["items"][0]["metadata"] == {}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("templateId=x", "invalidParameter"),
        ("assigned=yes", "invalidParameter"),
        ("cursor=x", "invalidCursor"),
        ("metadataKey=", "invalidParameter"),
        ("metadataValue=x", "invalidParameter"),
        ("metadata=x", "unknownParameter"),
    ],
)
async def test_it_rejects_filters_that_cannot_be(assignment_client: AssignmentClient, query: str, code: str) -> None:
    answer = await assignment_client.get(f"/admin/collab/v1/manage/groups/?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_findings_are_listed(assignment_client: AssignmentClient) -> None:
    await assignment_client.patch("delegated administrator", "group", {"templateId": str(NO_GUESTS)})
    await assignment_client.guest_rules.work()

    everything = (await assignment_client.get("/admin/v1/findings/", "Config")).json()
    of_group = (await assignment_client.get(f"/admin/v1/findings/?subjectId={ALL_STAFF}&state=open", "Config")).json()
    of_site = (await assignment_client.get(f"/admin/v1/findings/?subjectId={HANDBOOK}", "Config")).json()
    refused = await assignment_client.get("/admin/v1/findings/", "Manage")

    (finding,) = everything["items"]
    assert finding["subject"] == {"type": "group", "id": str(ALL_STAFF), "displayName": "All staff"}
    assert (finding["kind"], finding["state"], finding["property"]) == ("guestAgainstRule", "open", "guests")
    assert finding["observed"]["mail"] == "gil@partner.example"
    assert (finding["wanted"], finding["policyId"], finding["action"], finding["actionAt"]) == (None, None, None, None)
    assert of_group == everything
    assert of_site["items"] == []
    assert refused.status_code == 403


async def test_a_dry_run_answers_with_the_plan_and_leaves_no_trace(assignment_client: AssignmentClient) -> None:
    guest_rules, path = assignment_client.guest_rules, PATHS["group"]
    await guest_rules.discover()
    before = await fingerprint(guest_rules.estate.databases)

    async def dry_run(body: object, query: str = "dryRun=true", **headers: str) -> httpx2.Response:
        sent = {"authorization": "Bearer Manage", **headers}
        return await assignment_client.client.patch(f"{path}?{query}", json=body, headers=sent)

    answer = await dry_run({"templateId": str(NO_GUESTS)}, **{"idempotency-key": "dry"})
    refused = [
        await dry_run({"templateId": None}),
        await dry_run({"templateId": UNKNOWN}),
        await dry_run({}, **{"if-match": '"other"'}),
        await dry_run({}, "dryRun=yes"),
        await assignment_client.client.patch(
            f"{path}?dryRun=true", json={}, headers={"authorization": "Bearer delegated other"}
        ),
    ]

    detail = "Gil Hartmann is a guest, and guests are not allowed here."
    gil = {"id": str(GIL), "displayName": "Gil Hartmann", "mail": "gil@partner.example"}
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {
        "templateId": str(NO_GUESTS),
        "policyId": None,
        "effects": [{"name": step, "title": title(Step(step))} for step in STEPS],
        "removals": [],
        "findings": [
            {
                "kind": "guestAgainstRule",
                "property": "guests",
                "wanted": None,
                "observed": gil,
                "detail": detail,
                "policyId": None,
                "action": None,
                "actionAt": None,
            }
        ],
        "shortfalls": [],
    }
    assert "etag" not in answer.headers
    assert [each.status_code for each in refused] == [400, 422, 412, 400, 403]
    assert await fingerprint(guest_rules.estate.databases) == before
