# SPDX-License-Identifier: Apache-2.0
from uuid import UUID

import pytest

from tests.embedded.directory.conftest import OwnServer, Served
from tests.embedded.directory.guest_rules import set_guest_rules
from tests.embedded.directory.sample_data import CREW, HANDBOOK, OTHERS

ROOT = f"/v1.0/groups/{HANDBOOK}/sites/root"


async def test_it_works(served: Served) -> None:
    answer = await served.get(ROOT, whose="house-sites")

    assert answer.status_code == 200
    site = answer.json()
    host, collection, web = site.pop("id").split(",")
    assert (host, collection, UUID(web).version) == ("sites.house.example", str(HANDBOOK), 5)
    assert site.pop("createdDateTime") == site.pop("lastModifiedDateTime")
    assert site == {
        "@odata.context": f"{served.graph_url}/v1.0/$metadata#sites/$entity",
        "description": "",
        "name": "handbook",
        "webUrl": "https://sites.house.example/handbook",
        "displayName": "Handbook",
        "root": {},
        "siteCollection": {"hostname": "sites.house.example"},
        "sharingCapability": "disabled",
    }


async def test_it_shows_a_site_by_its_id_and_its_groups_id(served: Served) -> None:
    site = (await served.get(ROOT, whose="house-sites")).json()

    for name in (site["id"], site["id"].upper(), HANDBOOK):
        assert (await served.get(f"/v1.0/sites/{name}", whose="house-directory")).json() == site


async def test_it_shows_the_sharing_capability(own_server: OwnServer) -> None:
    await set_guest_rules(own_server.databases.worker.pool)

    site = (await own_server.served.get(ROOT, whose="house-sites")).json()

    assert site["sharingCapability"] == "existingExternalUserSharingOnly"


@pytest.mark.parametrize(
    "name",
    [
        "root",
        "sites.house.example",
        f"sites.house.example,{HANDBOOK},{HANDBOOK}",
        f"other.example,{HANDBOOK},{HANDBOOK}",
        "a,b,c",
        CREW,
        OTHERS,
        UUID(int=1),
    ],
)
async def test_it_rejects_other_ids(served: Served, name: object) -> None:
    answer = await served.get(f"/v1.0/sites/{name}", whose="house-sites")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "itemNotFound")


@pytest.mark.parametrize(
    ("group_id", "code"),
    [(CREW, "itemNotFound"), (OTHERS, "Request_ResourceNotFound"), (UUID(int=1), "Request_ResourceNotFound")],
)
async def test_it_rejects_a_group_without_a_site(served: Served, group_id: UUID, code: str) -> None:
    answer = await served.get(f"/v1.0/groups/{group_id}/sites/root", whose="house-sites")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, code)


async def test_it_rejects_a_site_of_another_tenant(served: Served) -> None:
    for path in (ROOT, f"/v1.0/sites/{HANDBOOK}"):
        assert (await served.get(path, whose="other-directory")).status_code == 404


@pytest.mark.parametrize("whose", ["house", "house-users"])
async def test_it_requires_a_site_permission(served: Served, whose: str) -> None:
    for path in (ROOT, f"/v1.0/sites/{HANDBOOK}"):
        assert (await served.get(path, whose=whose)).status_code == 403
