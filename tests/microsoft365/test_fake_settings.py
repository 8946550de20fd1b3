# SPDX-License-Identifier: Apache-2.0
"""Settings, schema extensions, domains, sites and contacts of the fake."""

import re
from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import HANDBOOK, INNER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.group_settings import GUEST_TEMPLATE
from tests.microsoft365.fake.sample import APP, EXTENSION, PERMISSIONS
from tests.microsoft365.fake.tenant import CONTACTS, DOMAINS, Tenant
from tests.microsoft365.graph_client import FakeToken, code

pytestmark = pytest.mark.pure

SETTING = {"templateId": GUEST_TEMPLATE, "values": [{"name": "AllowToAddGuests", "value": "false"}]}
DEFINITION = {"description": "d", "targetTypes": ["Group"], "properties": [{"name": "requestId", "type": "String"}]}


async def test_it_works(graph: httpx2.AsyncClient) -> None:
    path = f"/groups/{PARTNERS}/settings"
    created = await graph.post(path, json=SETTING)
    setting = f"{path}/{created.json()['id']}"
    changed = await graph.patch(setting, json={"values": [{"name": "AllowToAddGuests", "value": "true"}]})
    listed = await graph.get(path)
    deleted = await graph.delete(setting)
    again = await graph.delete(setting)

    assert [each.status_code for each in (created, changed, deleted, again)] == [201, 204, 204, 404]
    [found] = listed.json()["value"]
    assert found["values"] == [{"name": "AllowToAddGuests", "value": "true"}]
    assert (await graph.get(path)).json()["value"] == []


@pytest.mark.parametrize(
    "changed",
    [
        {"templateId": "62375ab9-6b52-47ed-826b-58e47e0e304b"},
        {"values": []},
        {"values": [{"name": "AllowToAddGuests", "value": "no"}]},
        {"values": [{"name": "AllowToAddGuests", "value": False}]},
    ],
)
async def test_wrong_settings(graph: httpx2.AsyncClient, changed: dict[str, Any]) -> None:
    assert (await graph.post(f"/groups/{PARTNERS}/settings", json=SETTING | changed)).status_code == 400


async def test_a_setting_is_for_unified_groups_and_once(graph: httpx2.AsyncClient) -> None:
    await graph.post(f"/groups/{PARTNERS}/settings", json=SETTING)

    twice = await graph.post(f"/groups/{PARTNERS}/settings", json=SETTING)
    security = await graph.post(f"/groups/{INNER}/settings", json=SETTING)

    assert [code(each) for each in (twice, security)] == [(400, "Request_BadRequest")] * 2


async def test_templates_and_settings_of_the_tenant(graph: httpx2.AsyncClient) -> None:
    templates = await graph.get("/groupSettingTemplates")
    settings = await graph.get("/groupSettings")

    assert GUEST_TEMPLATE in {each["id"] for each in templates.json()["value"]}
    assert settings.json()["value"] == []


async def test_the_organization_and_its_domains(graph: httpx2.AsyncClient) -> None:
    organization = await graph.get("/organization")
    domains = await graph.get("/domains")

    [found] = organization.json()["value"]
    assert found["id"] == str(TENANT)
    assert [each["name"] for each in found["verifiedDomains"]] == ["estate.example"]
    assert [each["id"] for each in domains.json()["value"] if each["isDefault"]] == ["estate.example"]


async def test_contacts(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    contact = {"id": "c1", "displayName": "C", "proxyAddresses": ["SMTP:c@estate.example"]}
    tenant.log.put(CONTACTS, "c1", contact, at=tenant.old)

    found = await graph.get("/contacts?$filter=proxyAddresses/any(p:p eq 'smtp:c@estate.example')&$select=id")

    assert [each["id"] for each in found.json()["value"]] == ["c1"]


async def test_sites(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    collection = tenant.group(str(HANDBOOK))[EXTENSION]["siteId"]
    site = await graph.get(f"/sites/{collection}")

    assert site.json()["webUrl"] == "https://sites.estate.example/handbook"
    assert (await graph.get("/sites/root")).status_code == 200
    assert code(await graph.get("/sites/x")) == (404, "itemNotFound")


@pytest.fixture
async def administrator(fake: FakeMicrosoft365, graph: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A client with the rights to register extensions."""
    fake.consent(str(TENANT), str(APP), (*PERMISSIONS, "Application.ReadWrite.All", "Directory.ReadWrite.All"))
    graph.auth = FakeToken(fake)
    return graph


@pytest.mark.parametrize(
    ("asked", "given"),
    [("contoso_group", r"contoso_group"), ("group", r"ext[a-z0-9]{8}_group"), ("fabrikam_group", None)],
)
async def test_names_of_extensions(
    administrator: httpx2.AsyncClient, tenant: Tenant, asked: str, given: str | None
) -> None:
    """resources/schemaextension.md: a verified domain, or eight characters by Graph."""
    tenant.log.put(
        DOMAINS, "contoso.com", {"id": "contoso.com", "isDefault": False, "isInitial": False, "isVerified": True}
    )

    answer = await administrator.post("/schemaExtensions", json={"id": asked, **DEFINITION})

    assert answer.status_code == (400 if given is None else 201)
    assert given is None or re.fullmatch(given, answer.json()["id"])


async def test_an_extension_grows_only(administrator: httpx2.AsyncClient) -> None:
    path = f"/schemaExtensions/{EXTENSION}"
    listed = await administrator.get(f"/schemaExtensions?$filter=id eq '{EXTENSION}'")
    [known] = [each["properties"] for each in listed.json()["value"]]

    fewer = await administrator.patch(path, json={"properties": known[1:]})
    more = await administrator.patch(path, json={"properties": [*known, {"name": "x", "type": "String"}]})
    skipped = await administrator.patch(path, json={"status": "Deprecated"})
    available = await administrator.patch(path, json={"status": "Available"})

    assert [each.status_code for each in (fewer, more, skipped, available)] == [400, 204, 400, 204]


async def test_an_application_alone_registers_no_extension(fake: FakeMicrosoft365, graph: httpx2.AsyncClient) -> None:
    """schemaextension-post-schemaextensions.md: Directory.ReadWrite.All too."""
    fake.consent(str(TENANT), str(APP), ("Application.ReadWrite.All",))

    answer = await graph.post("/schemaExtensions", json={"id": "group", **DEFINITION}, auth=FakeToken(fake))

    assert code(answer) == (403, "Authorization_RequestDenied")
