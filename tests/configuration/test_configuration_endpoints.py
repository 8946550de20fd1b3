# SPDX-License-Identifier: Apache-2.0
"""Plan and apply over HTTP, with the real service behind."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import timedelta
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from chamberlain.app.routes import create_app
from chamberlain.auth.models import ActorType, Caller
from chamberlain.configuration.service import TenantConfigurationService
from chamberlain.configuration.yaml import MOST_LEVELS, write_document
from chamberlain.connections.service import ConnectionWriter
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities
from chamberlain.guests.assignments.service import AssignmentWriter
from tests.estates import ADA, INTERNAL, OTHER_HOUSE, PROJECT_GROUP, Estate, rows
from tests.example import example_document
from tests.guests.assignments.guest_fixture import ALL_STAFF, NO_GUESTS, GuestFixture, guest_fixture
from tests.http.http_fixture import BASE, PREFIX, USER, HttpFixture
from tests.requests.request_services import workers

# The content of documents and responses.
Document = Any

PLAN, APPLY = "/admin/v1/configuration/plan/", "/admin/v1/configuration/apply/"
APPLICATION = replace(USER, type=ActorType.APPLICATION)
CALLERS: Mapping[str, Caller] = {
    "administrator": replace(USER, permissions=frozenset({f"{PREFIX}/admin/Config.ReadWrite.All"})),
    "mail": replace(APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Mail.Config.ReadWrite.All"})),
    "collab": replace(APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Collab.Config.ReadWrite.All"})),
}
WRITTEN = "SELECT count(*) FROM chamberlain.audit"


@dataclass
class ConfigurationClient:
    """A client of an API with an estate behind it."""

    guest_rules: GuestFixture
    client: httpx2.AsyncClient

    async def plan(self, document: Document, caller: str = "administrator") -> httpx2.Response:
        return await self.client.post(PLAN, json=document, headers={"authorization": f"Bearer {caller}"})

    async def apply(
        self, document: Document, digest: str, caller: str = "administrator", **headers: str
    ) -> httpx2.Response:
        sent = {"authorization": f"Bearer {caller}", **headers}
        return await self.client.post(APPLY, json=document, params={"digest": digest}, headers=sent)

    async def yaml(self, text: str) -> httpx2.Response:
        headers = {"authorization": "Bearer administrator", "content-type": "application/yaml; charset=utf-8"}
        return await self.client.post(PLAN, content=text.encode(), headers=headers)

    async def rows(self, statement: str) -> list[tuple[object, ...]]:
        return await rows(self.guest_rules.estate.databases, statement)


@pytest.fixture
async def configuration(estate: Estate) -> AsyncIterator[ConfigurationClient]:
    guest_rules = guest_fixture(estate)
    authorization = guest_rules.assignments.authorization

    async def verify(authorization: str | None) -> Caller:
        return CALLERS[str(authorization).removeprefix("Bearer ")]

    http_fixture = HttpFixture()
    http = replace(http_fixture.http(), verify=verify, require_allowed=authorization.require)
    service = TenantConfigurationService(
        estate.databases.application,
        estate.people,
        estate.directory,
        authorization,
        AssignmentWriter(uuid4, estate.now),
        ConnectionWriter(frozenset({"db.estate.example"}), uuid4, estate.now),
        workers(estate),
    )
    transport = httpx2.ASGITransport(app=create_app(http, [service, *http_fixture.services()]))
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        yield ConfigurationClient(guest_rules, client)


def document(**members: object) -> Document:
    """The configuration of the estate as it is, with these members of the tenant."""
    tenant = deepcopy(example_document()["tenants"][0])
    return {"tenants": [{**tenant, **members}]}


def template_in(found: Document, template: object) -> Document:
    (one,) = [each for each in found["tenants"][0]["templates"] if each["id"] == str(template)]
    return one


async def test_it_works(configuration: ConfigurationClient) -> None:
    await configuration.guest_rules.discover()
    wanted = document(assignments=[{"group": "All staff", "template": "No guests"}])
    template_in(wanted, PROJECT_GROUP)["name"] = "Project circle"

    planned = await configuration.plan(wanted)
    applied = await configuration.apply(wanted, planned.json()["digest"])
    again = await configuration.yaml(write_document(wanted))

    assert planned.status_code == 200, planned.text
    assert planned.json()["counts"] == {"create": 1, "change": 1, "remove": 0}
    assert [(each["noun"], each["before"], each["after"]) for each in planned.json()["changes"]] == [
        ("template", {"name": "Project group"}, {"name": "Project circle"}),
        ("assignment", None, {"templateId": str(NO_GUESTS)}),
    ]
    assert (applied.status_code, applied.json()) == (200, planned.json())
    assert again.json()["changes"] == []
    assert await configuration.rows(
        "SELECT action, payload -> 'actor' ->> 'type' FROM chamberlain.audit ORDER BY sequence DESC LIMIT 2"
    ) == [("group.assign", "user"), ("template.replace", "user")]
    assert await configuration.rows("SELECT subject_id FROM chamberlain.subject WHERE is_assigned") == [(ALL_STAFF,)]


async def test_it_changes_the_connection_of_the_tenant(configuration: ConfigurationClient) -> None:
    address = "postgresql://directory@db.estate.example:5432/directory"
    wanted = document(connection={"adapter": "embedded", "address": address, "credentialFile": "password"})

    planned = (await configuration.plan(wanted)).json()
    applied = await configuration.apply(wanted, planned["digest"])
    late = await configuration.apply(wanted, planned["digest"])
    removal = (await configuration.plan(document(connection=None))).json()
    secret = await configuration.plan(document(connection={"adapter": "embedded", "credential": "hunter2"}))

    assert [(each["verb"], each["noun"], each["name"]) for each in planned["changes"]] == [
        ("create", "connection", "embedded")
    ]
    assert (applied.status_code, applied.json()) == (200, planned)
    assert (late.status_code, late.json()["code"]) == (409, "previewChanged")
    assert [(each["verb"], each["removes"]) for each in removal["changes"]] == [("remove", True)]
    assert (secret.status_code, secret.json()["errors"][0]["code"]) == (400, "credentialInFile")
    assert "hunter2" not in secret.text
    assert await configuration.rows(
        "SELECT payload -> 'actor' ->> 'type' FROM chamberlain.audit WHERE action = 'connection.create'"
    ) == [("user",)]


async def test_it_applies_once_per_key(configuration: ConfigurationClient) -> None:
    wanted = document(name="Renamed")
    digest = (await configuration.plan(wanted)).json()["digest"]

    first = await configuration.apply(wanted, digest, **{"idempotency-key": "one"})
    second = await configuration.apply(wanted, digest, **{"idempotency-key": "one"})
    other = await configuration.apply(document(), digest, **{"idempotency-key": "one"})

    assert (second.status_code, second.json()) == (200, first.json())
    assert second.headers["idempotency-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotencyKeyReused")


async def test_it_rejects_a_plan_that_has_changed_meanwhile(configuration: ConfigurationClient) -> None:
    wanted = document(name="Renamed")
    digest = (await configuration.plan(wanted)).json()["digest"]
    other = document(name="Other")
    assert (await configuration.apply(other, (await configuration.plan(other)).json()["digest"])).status_code == 200
    before = await configuration.rows(WRITTEN)

    late = await configuration.apply(wanted, digest)
    missing = await configuration.client.post(APPLY, json=wanted, headers={"authorization": "Bearer administrator"})

    assert (late.status_code, late.json()["code"]) == (409, "previewChanged")
    assert (missing.status_code, missing.json()["code"]) == (400, "invalidParameter")
    assert await configuration.rows(WRITTEN) == before


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"id": str(OTHER_HOUSE)}, "/tenants/0/id", "otherTenant"),
        (
            {"domains": ["estate.example", "rooms.estate.example", "more.example"]},
            "/tenants/0/domains",
            "operatorSetting",
        ),
        ({"issuers": [{"issuer": "https://login.example"}]}, "/tenants/0/issuers", "operatorSetting"),
        ({"extensionPrefix": "other"}, "/tenants/0/extensionPrefix", "operatorSetting"),
        ({"limits": {"openRequests": 7}}, "/tenants/0/limits", "operatorSetting"),
        ({"administrators": {"users": []}}, "/tenants/0/administrators", "noAdministrator"),
        (
            {"administrators": {"users": ["0000dead-0000-4000-8000-000000000000"]}},
            "/tenants/0/administrators/users/0",
            "userUnknown",
        ),
        ({"assignments": [{"group": "No such"}]}, "/tenants/0/assignments/0/group", "groupUnknown"),
    ],
)
async def test_it_rejects_what_is_not_the_tenants_to_change(
    configuration: ConfigurationClient, change: Mapping[str, object], pointer: str, code: str
) -> None:
    wanted = document(**change)
    template_in(wanted, PROJECT_GROUP)["name"] = "Never"
    before = await configuration.rows(WRITTEN)

    refused = await configuration.apply(wanted, "0" * 64)
    planned = await configuration.plan(wanted)

    assert refused.status_code in {409, 422}
    assert planned.status_code == 422, planned.text
    assert (pointer, code) in [(each["pointer"], each["code"]) for each in planned.json()["errors"]]
    assert await configuration.rows(WRITTEN) == before


async def test_settings_of_the_operator_that_are_left_out_stay(configuration: ConfigurationClient) -> None:
    await configuration.rows("UPDATE chamberlain.tenant SET open_requests = 9, extension_prefix = 'estate'")
    left_out = document()
    for name in ("limits", "extensionPrefix", "issuers"):
        left_out["tenants"][0].pop(name, None)
    sections = await configuration.plan({**document(), "directory": {"users": []}, "clients": [{"name": "cli"}]})

    planned = await configuration.plan(left_out)

    assert planned.json()["changes"] == []
    assert [(each["pointer"], each["code"]) for each in sections.json()["errors"]] == [
        ("/directory", "operatorSetting"),
        ("/clients", "operatorSetting"),
    ]


async def test_each_change_needs_the_permission_of_its_endpoint(configuration: ConfigurationClient) -> None:
    wanted = document()
    template_in(wanted, PROJECT_GROUP)["name"] = "Project circle"

    mail = await configuration.plan(wanted, "mail")
    collab = await configuration.plan(wanted, "collab")

    assert (mail.status_code, mail.json()["code"]) == (403, "insufficientScope")
    assert collab.status_code == 200


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("tenants:\n  - name: &a x\n", "notYaml", "Line 2"),
        ("tenants:\n  - !!python/object:os.system x\n", "notYaml", "Line 2"),
        ("tenants: [\n", "notYaml", "Line 2"),
        ("a: " + "[" * (MOST_LEVELS + 2), "notYaml", "Line 1"),
        (" ", "notYaml", ""),
        ("null", "notAnObject", ""),
        ("# nothing", "notAnObject", ""),
        ("tenants:\n  - id: x\n", "invalidBody", ""),
    ],
)
async def test_it_rejects_faulty_yaml_with_its_line(
    configuration: ConfigurationClient, text: str, code: str, line: str
) -> None:
    refused = await configuration.yaml(text)

    assert (refused.status_code, refused.json()["code"]) == (400, code)
    assert line in refused.json()["detail"]
    if line:
        assert refused.json()["values"] == {"line": int(line.removeprefix("Line "))}
    if code == "invalidBody":
        assert {each["values"]["line"] for each in refused.json()["errors"]} == {2}
        assert all(each["detail"].startswith("Line 2: ") for each in refused.json()["errors"])


async def test_it_rejects_other_bodies(configuration: ConfigurationClient) -> None:
    headers = {"authorization": "Bearer administrator"}

    text, large, deep, long = [
        await configuration.client.post(PLAN, content=content, headers={**headers, "content-type": type_})
        for content, type_ in (
            ("tenants: []", "text/plain"),
            ("#" * (512 * 1024 + 1), "application/yaml"),
            (json.dumps({"tenants": 1}).replace("1", "[" * 900 + "]" * 900), "application/json"),
            # The pointers of its faults would have 12 GB.
            (json.dumps({"directory": {"a" * 200_000: ["\u202e"] * 20_000}}, ensure_ascii=False), "application/json"),
        )
    ]

    assert (text.status_code, text.json()["code"]) == (415, "notJsonContent")
    assert (large.status_code, large.json()["code"]) == (413, "bodyTooLarge")
    assert (deep.status_code, deep.json()["code"]) == (400, "notJson")
    assert (long.status_code, long.json()["code"]) == (400, "notJson")


async def test_faults_of_users_have_their_values(configuration: ConfigurationClient) -> None:
    unknown = "0000dead-0000-4000-8000-000000000000"

    planned = await configuration.plan(document(administrators={"users": [str(ADA), unknown]}))

    faults = [(each["code"], each["pointer"], each["values"]) for each in planned.json()["errors"]]
    assert faults == [("userUnknown", "/tenants/0/administrators/users/1", {"user": unknown})]


@pytest.mark.heavy
async def test_other_calls_do_not_wait_for_thousands_of_templates(configuration: ConfigurationClient) -> None:
    gaps: list[float] = []

    async def watch() -> None:
        before = perf_counter()
        while True:
            await asyncio.sleep(0)
            gaps.append(perf_counter() - before)
            before = perf_counter()

    new = [{"id": str(uuid4()), "kind": "group", "name": f"T{number}"} for number in range(4_500)]
    watching = asyncio.create_task(watch())

    planned = await configuration.plan(document(templates=[*document()["tenants"][0]["templates"], *new]))

    watching.cancel()
    assert planned.json()["counts"]["create"] == len(new)
    # A search of the list for each template took 8 seconds.
    assert max(gaps) < 2


async def test_it_refuses_a_template_that_the_directory_cannot_follow(configuration: ConfigurationClient) -> None:
    configuration.guest_rules.estate.restrict()
    wanted = document()
    template_in(wanted, PROJECT_GROUP)["labelId"] = INTERNAL

    planned = await configuration.plan(wanted)

    assert planned.status_code == 422
    (fault,) = planned.json()["errors"]
    assert (fault["code"], fault["pointer"].rpartition("/")[2]) == ("labelsNotSupported", "labelId")


@pytest.mark.parametrize(
    ("subject", "ability", "code"),
    [
        ("Handbook", Ability.SITES, "sitesNotSupported"),
        ("All staff", Ability.GUEST_DOMAINS, "guestDomainsNotSupported"),
    ],
)
async def test_it_refuses_an_assignment_that_the_directory_cannot_follow(
    configuration: ConfigurationClient, subject: str, ability: Ability, code: str
) -> None:
    await configuration.guest_rules.discover()
    wanted = document(assignments=[{"group" if subject == "All staff" else "site": subject, "template": "Partners"}])
    possible = await configuration.plan(wanted)
    configuration.guest_rules.estate.restrict(Capabilities(timedelta(0), abilities=ALL_ABILITIES - {ability}))

    planned = await configuration.plan(wanted)

    assert (possible.status_code, planned.status_code) == (200, 422)
    (fault,) = planned.json()["errors"]
    assert (fault["code"], fault["pointer"].rpartition("/")[2]) == (code, "assignments")
