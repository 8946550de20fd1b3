# SPDX-License-Identifier: Apache-2.0
"""Groups of the fake: creation, upsert, updates, deletion, labels and extensions."""

from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, INTERNAL, NOBODY, OUTER, PARTNERS, TENANT, VISITORS
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, EXTENSION
from tests.microsoft365.fake.tenant import BOUND, Tenant
from tests.microsoft365.graph_client import GRAPH, FakeToken, code, new_group, reference, token

pytestmark = pytest.mark.pure

UNIQUE = "/groups(uniqueName='chamberlain-1')"
UPSERT = {"prefer": "create-if-missing"}


async def test_it_works(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    body = new_group() | {"owners@odata.bind": [reference(ADA)], EXTENSION: {"requestId": "r1"}}

    answer = await graph.patch(UNIQUE, json=body, headers=UPSERT)

    assert answer.status_code == 201
    assert answer.json()["uniqueName"] == "chamberlain-1"
    [created] = tenant.created("group")
    assert (created.id, created.key) == (answer.json()["id"], "chamberlain-1")
    assert tenant.owner_ids(created.id) == {str(ADA)}


async def test_an_upsert_again_updates(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    await graph.patch(UNIQUE, json=new_group(), headers=UPSERT)

    answer = await graph.patch(UNIQUE, json=new_group(displayName="Other"), headers=UPSERT)

    assert (answer.status_code, answer.content) == (204, b"")
    [created] = tenant.created("group")
    assert tenant.group(created.id)["displayName"] == "Other"


async def test_an_upsert_without_the_preference_only_updates(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    answer = await graph.patch(UNIQUE, json=new_group())

    assert code(answer) == (404, "Request_ResourceNotFound")
    assert tenant.ledger == []


@pytest.mark.parametrize(("refuses", "status"), [(True, 400), (False, 204)])
async def test_an_upsert_with_bound_owners_again(
    graph: httpx2.AsyncClient, tenant: Tenant, *, refuses: bool, status: int
) -> None:
    """It is not published (V1), so each seed chooses."""
    tenant.refuses_bound_again = refuses
    body = new_group() | {"owners@odata.bind": [reference(ADA)]}
    await graph.patch(UNIQUE, json=body, headers=UPSERT)

    assert (await graph.patch(UNIQUE, json=body, headers=UPSERT)).status_code == status


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({"displayName": None}, (400, "Request_BadRequest"), id="null for a required value"),
        pytest.param({"displayName": "x" * 257}, (400, "Request_BadRequest"), id="a long name"),
        pytest.param({"mailNickname": "gölf"}, (400, "Request_BadRequest"), id="a letter beyond ASCII"),
        pytest.param({"mailNickname": "a b"}, (400, "Request_BadRequest"), id="a space in an address"),
        pytest.param({"mailNickname": "x" * 65}, (400, "Request_BadRequest"), id="a long address"),
        pytest.param({"mailEnabled": False}, (400, "Request_BadRequest"), id="a unified group without mail"),
        pytest.param({"visibility": "Secret"}, (400, "Request_BadRequest"), id="an unknown visibility"),
        pytest.param({"colour": "red"}, (400, "BadRequest"), id="an unknown property"),
        pytest.param({"mail": "a@b.example"}, (400, "Request_BadRequest"), id="a property that is read-only"),
        pytest.param({"autoSubscribeNewMembers": True}, (400, "Request_BadRequest"), id="a property for a later PATCH"),
        pytest.param({"groupTypes": ["Dynamic"]}, (400, "Request_BadRequest"), id="an unknown type"),
        pytest.param(
            {"groupTypes": ["Unified", "DynamicMembership"]}, (400, "Request_BadRequest"), id="a rule is missing"
        ),
        pytest.param(
            {"groupTypes": ["Unified", "DynamicMembership"], "membershipRule": "(user.department"},
            (400, "InvalidDynamicMembershipRule"),
            id="a wrong rule",
        ),
        pytest.param({"owners@odata.bind": [str(ADA)]}, (400, "Request_BadRequest"), id="an id in place of an address"),
        pytest.param(
            {"owners@odata.bind": [reference(ADA), reference(ADA)]}, (400, "Request_BadRequest"), id="an owner twice"
        ),
        pytest.param(
            {"owners@odata.bind": [reference(OUTER, "groups")]}, (400, "Request_BadRequest"), id="a group as owner"
        ),
        pytest.param({"members@odata.bind": [reference(NOBODY)]}, (404, "Request_ResourceNotFound"), id="nobody"),
        pytest.param({"members@odata.bind": [reference(ADA)] * 21}, (400, "BadRequest"), id="21 members"),
        pytest.param({"other_group": {"requestId": "1"}}, (400, "BadRequest"), id="an unknown extension"),
        pytest.param({EXTENSION: {"colour": "red"}}, (400, "BadRequest"), id="an unknown property of the extension"),
        pytest.param({EXTENSION: {"requestId": 1}}, (400, "BadRequest"), id="a number in the extension"),
        pytest.param({"assignedLabels": [{"labelId": INTERNAL}]}, (403, "Authorization_RequestDenied"), id="a label"),
        pytest.param({"mailNickname": "partners"}, (400, "Request_BadRequest"), id="the address of a group"),
        pytest.param({"mailNickname": "CLEO"}, (400, "Request_BadRequest"), id="the address of a user"),
    ],
)
async def test_refused(
    graph: httpx2.AsyncClient, tenant: Tenant, changed: dict[str, Any], expected: tuple[int, str]
) -> None:
    answer = await graph.post("/groups", json=new_group(**changed))

    assert code(answer) == expected
    assert tenant.ledger == []


@pytest.mark.parametrize("name", ["displayName", "mailEnabled", "mailNickname", "securityEnabled"])
async def test_a_required_property_is_missing(graph: httpx2.AsyncClient, name: str) -> None:
    body = {each: value for each, value in new_group().items() if each != name}

    assert code(await graph.post("/groups", json=body)) == (400, "Request_BadRequest")


async def test_a_conflict_names_its_property(graph: httpx2.AsyncClient) -> None:
    answer = await graph.post("/groups", json=new_group("partners"))

    details = answer.json()["error"]["details"]
    assert [(each["code"], each["target"]) for each in details] == [
        ("ObjectConflict", "mailNickname"),
        ("ConflictingObjects", "mailNickname"),
    ]


async def test_at_most_twenty_relations_in_all(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    for number in range(20):
        tenant.add_user(f"u{number}", displayName="U", userPrincipalName=f"u{number}@estate.example")
    people = [reference(f"u{number}") for number in range(20)]

    refused = await graph.post(
        "/groups", json=new_group() | {"owners@odata.bind": [reference(ADA)], "members@odata.bind": people}
    )
    answer = await graph.post(
        "/groups", json=new_group() | {"owners@odata.bind": people[:1], "members@odata.bind": people[1:]}
    )

    assert code(refused) == (400, "Request_BadRequest")
    assert answer.status_code == 201


async def test_a_dynamic_group_takes_no_members(graph: httpx2.AsyncClient) -> None:
    """microsoft-graph-docs issue 9556."""
    body = new_group(groupTypes=["Unified", "DynamicMembership"], membershipRule='user.department -eq "Sales"')

    refused = await graph.post("/groups", json={**body, "members@odata.bind": [reference(ADA)]})
    answer = await graph.post("/groups", json=body)
    members = await graph.get(f"/groups/{answer.json()['id']}/members?$select=id")

    assert code(refused) == (403, "Authorization_RequestDenied")
    assert {each["id"] for each in members.json()["value"]} == {str(ADA), str(BEN)}


async def test_some_properties_are_returned_only_when_selected(graph: httpx2.AsyncClient) -> None:
    created = await graph.patch(UNIQUE, json=new_group() | {EXTENSION: {"requestId": "r1"}}, headers=UPSERT)
    path = f"/groups/{created.json()['id']}"

    plain = (await graph.get(path)).json()
    selected = (await graph.get(f"{path}?$select=id,uniqueName,assignedLabels,{EXTENSION}")).json()

    assert not {"uniqueName", "assignedLabels", EXTENSION} & plain.keys()
    assert selected["uniqueName"] == "chamberlain-1"
    assert selected["assignedLabels"] == []
    assert selected[EXTENSION] == {
        "@odata.type": "#microsoft.graph.ComplexExtensionValue",
        "policyId": None,
        "requestId": "r1",
        "siteId": None,
        "templateId": None,
    }


async def test_values_of_an_extension_are_merged(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    path = f"/groups/{PARTNERS}"
    await graph.patch(path, json={EXTENSION: {"requestId": "r1", "policyId": "p1"}})
    await graph.patch(path, json={EXTENSION: {"policyId": None, "templateId": "t1"}})
    merged = tenant.group(str(PARTNERS))[EXTENSION]
    await graph.patch(path, json={EXTENSION: None})

    assert merged == {"requestId": "r1", "policyId": None, "templateId": "t1", "siteId": None}
    assert tenant.group(str(PARTNERS))[EXTENSION] is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"uniqueName": "other"}, 204, id="a first unique name"),
        pytest.param({"mailEnabled": True, "groupTypes": ["Unified"]}, 204, id="the same fixed values"),
        pytest.param({"groupTypes": []}, 400, id="another type"),
        pytest.param({"mailNickname": "all-staff"}, 400, id="a taken address"),
        pytest.param({"owners@odata.bind": [reference(BEN)]}, 400, id="owners by PATCH"),
        pytest.param({"members@odata.bind": [reference(ADA), reference(BEN)]}, 400, id="an existing member"),
        pytest.param({"members@odata.bind": [reference(CLEO), reference(BEN)]}, 204, id="new members"),
        pytest.param({"displayName": ""}, 400, id="an empty name"),
        pytest.param({"autoSubscribeNewMembers": True}, 403, id="a property for delegated callers"),
        pytest.param({"autoSubscribeNewMembers": True, "description": "x"}, 400, id="a property not alone"),
    ],
)
async def test_update(graph: httpx2.AsyncClient, body: dict[str, Any], expected: int) -> None:
    assert (await graph.patch(f"/groups/{PARTNERS}", json=body)).status_code == expected


async def test_no_member_of_a_refused_list_is_added(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    before = tenant.member_ids(str(PARTNERS))

    await graph.patch(f"/groups/{PARTNERS}", json={"members@odata.bind": [reference(BEN), reference(ADA)]})

    assert tenant.member_ids(str(PARTNERS)) == before


async def test_a_unique_name_is_set_once(graph: httpx2.AsyncClient) -> None:
    path = f"/groups/{PARTNERS}"
    first = await graph.patch(path, json={"uniqueName": "a"})
    same = await graph.patch(path, json={"uniqueName": "a"})
    other = await graph.patch(path, json={"uniqueName": "b"})
    taken = await graph.patch(f"/groups/{OUTER}", json={"uniqueName": "a"})

    assert [each.status_code for each in (first, same, other, taken)] == [204, 204, 400, 400]


async def test_a_delegate_sets_labels(graph: httpx2.AsyncClient, fake: FakeMicrosoft365, tenant: Tenant) -> None:
    refresh = fake.tokens.delegate(str(TENANT), str(APP), "Group.ManageProtection.All")
    held = token(fake, grant_type="refresh_token", refresh_token=refresh)
    headers = {"authorization": f"Bearer {held}"}
    transport = fake.transport()

    async with httpx2.AsyncClient(transport=transport, base_url=GRAPH, headers=headers) as delegate:
        unknown = await delegate.patch(f"/groups/{PARTNERS}", json={"assignedLabels": [{"labelId": "x"}]})
        name = await delegate.patch(f"/groups/{PARTNERS}", json={"displayName": "x"})
        done = await delegate.patch(f"/groups/{PARTNERS}", json={"assignedLabels": [{"labelId": INTERNAL}]})
    refused = await graph.patch(f"/groups/{PARTNERS}", json={"assignedLabels": [{"labelId": INTERNAL}]})

    assert [each.status_code for each in (unknown, name, done, refused)] == [400, 403, 204, 403]
    assert tenant.group(str(PARTNERS))["assignedLabels"] == [{"labelId": INTERNAL, "displayName": "Internal"}]


async def test_a_deleted_group_is_in_the_recycle_bin(graph: httpx2.AsyncClient) -> None:
    """Its address and its unique name stay taken (V15)."""
    created = await graph.patch(UNIQUE, json=new_group(), headers=UPSERT)
    path = f"/groups/{created.json()['id']}"

    deleted = await graph.delete(path)
    again = await graph.patch(UNIQUE, json=new_group("other"), headers=UPSERT)
    bin_ = await graph.get("/directory/deletedItems/microsoft.graph.group?$select=id,uniqueName,deletedDateTime")

    assert deleted.status_code == 204
    assert code(await graph.get(path)) == (404, "Request_ResourceNotFound")
    assert code(again) == (400, "Request_BadRequest")
    assert again.json()["error"]["details"][0]["target"] == "uniqueName"
    [entry] = bin_.json()["value"]
    assert (entry["id"], entry["uniqueName"]) == (created.json()["id"], "chamberlain-1")


async def test_a_site_needs_an_owner(graph: httpx2.AsyncClient) -> None:
    without = await graph.post("/groups", json=new_group("first"))
    with_owner = await graph.post("/groups", json=new_group("second") | {"owners@odata.bind": [reference(ADA)]})

    sites = [await graph.get(f"/groups/{each.json()['id']}/sites/root") for each in (without, with_owner)]

    assert [each.status_code for each in sites] == [404, 200]


async def test_permissions_of_the_token_are_checked(fake: FakeMicrosoft365) -> None:
    fake.consent(str(TENANT), str(APP), ["User.Read.All", "GroupMember.Read.All"])

    async with httpx2.AsyncClient(transport=fake.transport(), base_url=GRAPH, auth=FakeToken(fake)) as client:
        read = await client.get(f"/groups/{PARTNERS}")
        write = await client.patch(f"/groups/{PARTNERS}", json={"description": "x"})

    assert read.status_code == 200
    assert code(write) == (403, "Authorization_RequestDenied")


async def test_owners_need_the_permission_to_read_users(fake: FakeMicrosoft365) -> None:
    """group-upsert.md, "Permissions"."""
    fake.consent(str(TENANT), str(APP), ["Group.Create"])
    body = new_group() | {"owners@odata.bind": [reference(ADA)]}

    async with httpx2.AsyncClient(transport=fake.transport(), base_url=GRAPH, auth=FakeToken(fake)) as client:
        refused = await client.post("/groups", json=body)
        created = await client.post("/groups", json=new_group())

    assert code(refused) == (403, "Authorization_RequestDenied")
    assert created.status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/groups/x/colour", (400, "BadRequest")),
        ("PUT", "/groups", (405, "Request_BadRequest")),
        ("GET", "/groups/x", (404, "Request_ResourceNotFound")),
        ("GET", "/groups?$select=colour", (400, "BadRequest")),
        ("GET", "/groups?$elect=id", (400, "BadRequest")),
        ("GET", f"/groups/{VISITORS}?$top=5", (400, "BadRequest")),
        ("GET", f"/groups/{VISITORS}?$select=other_group", (400, "BadRequest")),
        ("GET", "/groups?$filter=other_group/requestId eq 'x'", (400, "BadRequest")),
    ],
)
async def test_a_wrong_address(graph: httpx2.AsyncClient, method: str, path: str, expected: tuple[int, str]) -> None:
    assert code(await graph.request(method, path)) == expected


async def test_a_body_needs_its_type(graph: httpx2.AsyncClient) -> None:
    text = await graph.post("/groups", content=b"{}", headers={"content-type": "text/plain"})
    broken = await graph.post("/groups", content=b"{", headers={"content-type": "application/json"})
    empty = await graph.patch(f"/groups/{PARTNERS}")
    surplus = await graph.request("GET", f"/groups/{PARTNERS}", json={})

    assert {code(each) for each in (text, broken, empty, surplus)} == {(400, "BadRequest")}


async def test_quotas(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    """Their status is that of a missing permission."""
    tenant.most_groups = 5
    for number in range(100):
        tenant.add_user(f"u{number}", displayName="U", userPrincipalName=f"u{number}@estate.example")
        tenant.log.put(("owners", str(OUTER)), f"u{number}", BOUND, at=tenant.old)

    group = await graph.post("/groups", json=new_group())
    owner = await graph.post(f"/groups/{OUTER}/owners/$ref", json={"@odata.id": reference(BEN)})

    assert [code(each) for each in (group, owner)] == [(403, "Directory_QuotaExceeded")] * 2


async def test_guests_are_among_the_members(graph: httpx2.AsyncClient) -> None:
    query = "?$filter=userType eq 'Guest'&$count=true&$select=id,displayName"
    answer = await graph.get(
        f"/groups/{PARTNERS}/members/microsoft.graph.user{query}", headers={"consistencylevel": "eventual"}
    )

    assert str(GIL) in {each["id"] for each in answer.json()["value"]}
    assert answer.json()["@odata.count"] == 2
