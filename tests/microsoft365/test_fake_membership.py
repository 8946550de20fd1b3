# SPDX-License-Identifier: Apache-2.0
"""Members, owners and people of the fake."""

import httpx2
import pytest

from tests.directory.sample_directory import (
    ADA,
    BEN,
    CLEO,
    GIL,
    HANA,
    INNER,
    INTERNAL,
    NOBODY,
    OTHER_GROUP,
    OUTER,
    PARTNERS,
    VISITORS,
    ZOE,
)
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, PERMISSIONS, record_activity
from tests.microsoft365.fake.tenant import TEAMS_PLAN, Tenant
from tests.microsoft365.graph_client import code, reference, token

pytestmark = pytest.mark.pure

EVENTUAL = {"consistencylevel": "eventual"}


def ids(answer: httpx2.Response) -> set[str]:
    assert answer.status_code == 200, answer.text
    return {each["id"] for each in answer.json()["value"]}


async def test_it_works(graph: httpx2.AsyncClient) -> None:
    members = (await graph.get(f"/groups/{OUTER}/members?$select=id")).json()["value"]

    assert members == [
        {"@odata.type": "#microsoft.graph.user", "id": str(ADA)},
        {"@odata.type": "#microsoft.graph.group", "id": str(INNER)},
    ]


async def test_owners(graph: httpx2.AsyncClient) -> None:
    owners = (await graph.get(f"/groups/{PARTNERS}/owners?$select=id,userType")).json()["value"]

    assert owners == [{"@odata.type": "#microsoft.graph.user", "id": str(ADA), "userType": "Member"}]


async def test_casts_and_transitive_members(graph: httpx2.AsyncClient) -> None:
    direct = await graph.get(f"/groups/{OUTER}/members/microsoft.graph.user?$select=id")
    transitive = await graph.get(f"/groups/{OUTER}/transitiveMembers/microsoft.graph.user?$select=id,displayName")
    owners = await graph.get(f"/groups/{OUTER}/owners/microsoft.graph.user?$select=id")
    dynamic = await graph.get(f"/groups/{VISITORS}/members?$select=id")

    assert ids(direct) == ids(owners) == {str(ADA)}
    assert ids(transitive) == {str(ADA), str(BEN)}
    assert ids(dynamic) == {str(GIL), str(HANA)}


async def test_a_filter_of_members_is_an_advanced_query(graph: httpx2.AsyncClient) -> None:
    """aad-advanced-queries.md: casts need both parameters."""
    path = f"/groups/{PARTNERS}/members/microsoft.graph.user?$select=id&$filter=userType eq 'Guest'"

    plain, header = await graph.get(path), await graph.get(path, headers=EVENTUAL)
    both = await graph.get(f"{path}&$count=true", headers=EVENTUAL)

    assert [code(each) for each in (plain, header)] == [(400, "Request_UnsupportedQuery")] * 2
    assert ids(both) == {str(GIL), str(HANA)}


async def test_references_are_added_and_removed(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    path = f"/groups/{PARTNERS}"
    added = await graph.post(f"{path}/members/$ref", json={"@odata.id": reference(BEN, "directoryObjects")})
    again = await graph.post(f"{path}/members/$ref", json={"@odata.id": reference(BEN)})
    owner = await graph.post(f"{path}/owners/$ref", json={"@odata.id": reference(BEN)})
    removed = await graph.delete(f"{path}/members/{GIL}/$ref")
    absent = await graph.delete(f"{path}/members/{GIL}/$ref")

    assert [each.status_code for each in (added, again, owner, removed, absent)] == [204, 400, 204, 204, 404]
    assert "already exist" in again.json()["error"]["message"]
    assert tenant.member_ids(str(PARTNERS)) == {str(each) for each in (ADA, BEN, HANA)}
    assert tenant.owner_ids(str(PARTNERS)) == {str(each) for each in (ADA, BEN)}


async def test_the_last_owner_stays(graph: httpx2.AsyncClient) -> None:
    answer = await graph.delete(f"/groups/{PARTNERS}/owners/{ADA}/$ref")

    assert code(answer) == (400, "Request_BadRequest")


async def test_members_of_a_dynamic_group_stay(graph: httpx2.AsyncClient) -> None:
    """microsoft-graph-docs issue 9556, CIPP issue 468."""
    removed = await graph.delete(f"/groups/{VISITORS}/members/{GIL}/$ref")
    added = await graph.post(f"/groups/{VISITORS}/members/$ref", json={"@odata.id": reference(ADA)})

    assert [code(each) for each in (removed, added)] == [(403, "Authorization_RequestDenied")] * 2


async def test_a_user_of_another_tenant_does_not_exist(graph: httpx2.AsyncClient) -> None:
    added = await graph.post(f"/groups/{PARTNERS}/members/$ref", json={"@odata.id": reference(ZOE)})

    assert code(added) == (404, "Request_ResourceNotFound")
    assert code(await graph.get(f"/groups/{OTHER_GROUP}")) == (404, "Request_ResourceNotFound")


async def test_people_by_id(graph: httpx2.AsyncClient) -> None:
    selected = "id,displayName,mail,userPrincipalName,userType,preferredLanguage,department,assignedPlans"
    answer = await graph.get(f"/users?$filter=id in ('{ADA}','{NOBODY}')&$select={selected}")

    [ada] = answer.json()["value"]
    assert ada["userType"] == "Member"
    assert ada["department"] == "Sales"
    [plan] = ada["assignedPlans"]
    assert (plan["servicePlanId"], plan["capabilityStatus"]) == (TEAMS_PLAN, "Enabled")


async def test_at_most_fifteen_ids_in_a_filter(graph: httpx2.AsyncClient) -> None:
    def path(count: int) -> str:
        return "/users?$select=id&$filter=id in (" + ",".join(f"'{number}'" for number in range(count)) + ")"

    assert (await graph.get(path(15))).status_code == 200
    assert code(await graph.get(path(16))) == (400, "Request_UnsupportedQuery")


async def test_membership_in_given_groups(graph: httpx2.AsyncClient) -> None:
    asked = [str(OUTER), str(PARTNERS), str(NOBODY)]
    answer = await graph.post(f"/users/{BEN}/checkMemberGroups", json={"groupIds": asked})
    too_many = await graph.post(f"/users/{BEN}/checkMemberGroups", json={"groupIds": [str(OUTER)] * 21})

    assert answer.json()["value"] == [str(OUTER)]
    assert code(too_many) == (400, "Request_BadRequest")


async def test_managers(graph: httpx2.AsyncClient) -> None:
    ben = await graph.get(f"/users/{BEN}/manager?$select=id,displayName")
    ada = await graph.get(f"/users/{ADA}/manager?$select=id")

    assert ben.json()["id"] == str(ADA)
    assert code(ada) == (404, "Request_ResourceNotFound")


async def test_licenses_and_labels(graph: httpx2.AsyncClient) -> None:
    licenses = await graph.get(f"/users/{ADA}/licenseDetails")
    labels = await graph.get("/security/dataSecurityAndGovernance/sensitivityLabels")

    assert licenses.json()["value"][0]["servicePlans"][0]["provisioningStatus"] == "Success"
    assert INTERNAL in ids(labels)


async def test_a_guest_is_blocked(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    """User.EnableDisableAccount.All allows this property alone."""
    blocked = await graph.patch(f"/users/{GIL}", json={"accountEnabled": False})
    renamed = await graph.patch(f"/users/{GIL}", json={"displayName": "x"})
    revoked = await graph.post(f"/users/{GIL}/revokeSignInSessions")

    assert [each.status_code for each in (blocked, renamed, revoked)] == [204, 403, 200]
    assert revoked.json()["value"] is True
    assert tenant.latest().get(("users",), str(GIL))["accountEnabled"] is False


async def test_activity_is_read_from_users_alone(graph: httpx2.AsyncClient, fake: FakeMicrosoft365) -> None:
    """microsoft-graph-docs-contrib issue 5049; resources/user.md: users who never signed in have no activity."""
    at = record_activity(fake, GIL)
    select = "$select=id,signInActivity"

    users = await graph.get(f"/users?$filter=id in ('{GIL}','{HANA}')&{select}")
    members = await graph.get(f"/groups/{PARTNERS}/members/microsoft.graph.user?{select}")
    by_name = await graph.get(f"/users/ada@estate.example?{select}")

    activity = {each["id"]: each.get("signInActivity") for each in users.json()["value"]}
    assert activity == {str(GIL): {"lastSignInDateTime": at.strftime("%Y-%m-%dT%H:%M:%SZ")}, str(HANA): None}
    assert [each for each in members.json()["value"] if "signInActivity" in each] == []
    assert code(by_name) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("permissions", "is_premium", "expected"),
    [
        (PERMISSIONS, True, 200),
        (PERMISSIONS, False, 403),
        (tuple(each for each in PERMISSIONS if each != "AuditLog.Read.All"), True, 403),
    ],
)
async def test_activity_needs_a_permission_and_a_licence(
    fake: FakeMicrosoft365,
    tenant: Tenant,
    graph: httpx2.AsyncClient,
    permissions: tuple[str, ...],
    *,
    is_premium: bool,
    expected: int,
) -> None:
    fake.consent(tenant.id, str(APP), permissions)
    tenant.is_premium = is_premium
    headers = {"authorization": f"Bearer {token(fake)}"}

    answer = await graph.get(f"/users/{CLEO}?$select=id,signInActivity", headers=headers, auth=None)

    assert answer.status_code == expected
