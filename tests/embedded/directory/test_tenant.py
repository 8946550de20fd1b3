# SPDX-License-Identifier: Apache-2.0
"""The tenant itself: organization, domains, setting templates, labels and contacts."""

import pytest

from tests.embedded.directory.conftest import OwnServer, Served
from tests.embedded.directory.sample_data import ADA, HOUSE, OTHER_HOUSE

LABELS = "dataSecurityAndGovernance/sensitivityLabels"


async def test_it_works(served: Served) -> None:
    domains = (await served.get("/v1.0/domains", whose="house-domains")).json()["value"]
    (organization,) = (await served.get("/v1.0/organization", whose="house-users")).json()["value"]

    assert [(domain["id"], domain["isDefault"]) for domain in domains] == [("house.example", True)]
    assert organization["id"] == str(HOUSE)
    assert [domain["name"] for domain in organization["verifiedDomains"]] == ["house.example"]


async def test_it_selects(served: Served) -> None:
    (organization,) = (await served.get("/v1.0/organization?$select=id", whose="house-users")).json()["value"]

    assert organization == {"id": str(HOUSE)}


async def test_it_shows_each_tenant_its_own(served: Served) -> None:
    (organization,) = (await served.get("/v1.0/organization", whose="other-directory")).json()["value"]
    (domain,) = (await served.get("/v1.0/domains", whose="other-directory")).json()["value"]

    assert (organization["id"], domain["id"]) == (str(OTHER_HOUSE), "other.example")


async def test_it_lists_the_templates_of_settings(served: Served) -> None:
    templates = (await served.get("/v1.0/groupSettingTemplates", whose="house-group-settings")).json()["value"]

    assert [template["displayName"] for template in templates] == ["Group.Unified.Guest", "Group.Unified"]


async def test_it_lists_the_settings_of_the_tenant(own_server: OwnServer) -> None:
    before = (await own_server.served.get("/v1.0/groupSettings")).json()["value"]
    await own_server.databases.worker.pool.execute(
        "INSERT INTO directory.guest_defaults VALUES ($1, false, 'owners', '{}', '{}')", HOUSE
    )

    (after,) = (await own_server.served.get("/v1.0/groupSettings")).json()["value"]

    assert before == []
    assert after["values"] == [{"name": "AllowToAddGuests", "value": "false"}]


@pytest.mark.parametrize("path", [f"/v1.0/security/{LABELS}", f"/v1.0/users/{ADA}/{LABELS}"])
async def test_it_lists_the_labels(served: Served, path: str) -> None:
    labels = (await served.get(path, whose="house-labels")).json()["value"]

    assert [(label["id"], label["name"]) for label in labels] == [("internal", "Internal")]


async def test_it_has_no_contacts(served: Served) -> None:
    answer = await served.get("/v1.0/contacts", whose="house-contacts")

    assert (answer.status_code, answer.json()["value"]) == (200, [])


@pytest.mark.parametrize("path", ["organization", "domains", "groupSettingTemplates", "contacts", f"security/{LABELS}"])
async def test_it_requires_a_permission(served: Served, path: str) -> None:
    assert (await served.get(f"/v1.0/{path}", whose="house")).status_code == 403
