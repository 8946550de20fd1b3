# SPDX-License-Identifier: Apache-2.0
"""One offered template over HTTP and by the service: all that a form needs."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, NotFound, TryAgain, Unavailable
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.template_admin.models import COLLAB, MAIL
from tests.estates import (
    ADA,
    BEN,
    CONFIDENTIAL_TEAM,
    NOBODY,
    OTHER_GROUP,
    OTHER_HOUSE,
    PROJECT_GROUP,
    ROOM_MAILBOX,
    ZOE,
    Estate,
    caller_of,
    mail_caller_of,
)
from tests.http.http_fixture import HttpFixture
from tests.requests.request_services import administrator, application
from tests.template_admin.fake_templates import ROOM, TEAM
from tests.template_admin.template_fixture import TemplateFixture
from tests.template_admin.test_collab_templates_endpoints import GUEST
from tests.template_admin.test_collab_templates_endpoints import WHOLE as TEAM_BODY
from tests.template_admin.test_mailbox_templates import WHOLE as ROOM_BODY

ADMINISTRATOR = {"authorization": "Bearer administrator"}
MAIL_USER = {"authorization": "Bearer mail"}
STAFF = "94000000-0000-4000-8000-000000000001"
MAILBOX_FORM = f"/mail/v1/templates/{ROOM}/"
GROUP_FORM = f"/collab/v1/templates/{TEAM}/"


async def put(api: httpx2.AsyncClient, area: str, body: Mapping[str, object]) -> None:
    answer = await api.post(f"/admin/{area}/v1/templates/", json=dict(body), headers=ADMINISTRATOR)
    assert answer.status_code == 201, answer.text


async def test_it_works(api: httpx2.AsyncClient) -> None:
    await put(api, "collab", TEAM_BODY)

    answer = await api.get(GROUP_FORM)

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    text, choice = fields(TEAM_BODY)
    assert answer.json() == {
        "id": str(TEAM),
        "kind": "team",
        "name": "Confidential team",
        "description": "For what is not for everybody",
        "isDefault": False,
        "approvalRequired": True,
        "nameFollowsRule": True,
        "addressFollowsRule": True,
        "domain": "estate.example",
        "domains": ["estate.example"],
        "memberShipType": 1,
        "memberShipTypeChangeable": False,
        "minimumOwners": 2,
        "labelId": "1abe1000-0000-4000-8000-000000000001",
        "labels": [
            {"id": "1abe1000", "displayName": "Internal", "description": None},
            {"id": "1abe2000", "displayName": "Secret", "description": "Locked."},
        ],
        "customFields": [{**text, "default": None}, {**choice, "default": None}],
    }


async def test_a_mailbox_has_domains_and_defaults(api: httpx2.AsyncClient) -> None:
    metadata = {"el-text-1": "Acme", "el-choice-1": "a", "other": True}
    await put(api, "mail", ROOM_BODY | {"defaults": {"country": "Switzerland", "metadata": metadata}})

    answer = await api.get(MAILBOX_FORM, headers=MAIL_USER)

    text, choice = fields(ROOM_BODY)
    assert answer.json() == {
        "id": str(ROOM),
        "kind": "room",
        "name": "Room",
        "description": "Meeting rooms",
        "isDefault": True,
        "approvalRequired": True,
        "nameFollowsRule": False,
        "addressFollowsRule": True,
        "domain": "rooms.estate.example",
        "domains": ["estate.example", "rooms.estate.example"],
        "defaults": {"country": "Switzerland", "metadata": metadata},
        "customFields": [{**text, "default": "Acme"}, {**choice, "default": "a"}],
    }


@pytest.mark.parametrize(
    ("body", "domain"),
    [
        ({}, "estate.example"),
        ({"domain": "Rooms.Estate.example"}, "rooms.estate.example"),
        ({"domain": "rooms.estate.example", "defaults": {"domain": "estate.example"}}, "estate.example"),
    ],
)
async def test_the_domain_is_that_of_a_request_without_one(
    api: httpx2.AsyncClient, body: Mapping[str, object], domain: str
) -> None:
    await put(api, "mail", {"kind": "room", "name": "Room", **body})

    form = (await api.get(MAILBOX_FORM, headers=MAIL_USER)).json()

    assert (form["domain"], form["addressFollowsRule"], form["customFields"]) == (domain, False, [])


async def test_labels_are_null_while_the_directory_does_not_answer(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    await put(api, "collab", {"kind": "group", "name": "Project group"})
    http_fixture.templates.labels = None

    form = (await api.get(GROUP_FORM)).json()

    assert (form["labels"], form["nameFollowsRule"], form["addressFollowsRule"]) == (None, False, False)


@pytest.mark.parametrize(
    ("path", "who", "code"),
    [
        (MAILBOX_FORM, "Bearer ada", "insufficientScope"),
        (GROUP_FORM, "Bearer mail", "insufficientScope"),
        (GROUP_FORM, "Bearer automation", "applicationNotSupported"),
    ],
)
async def test_it_rejects_callers_without_the_permission(
    api: httpx2.AsyncClient, path: str, who: str, code: str
) -> None:
    answer = await api.get(path, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, code)


async def test_guest_templates_and_inactive_ones_are_not_found(api: httpx2.AsyncClient) -> None:
    await put(api, "collab", GUEST)
    guest = await api.get(GROUP_FORM)
    await put(api, "collab", {"kind": "group", "name": "Retired", "active": False})
    inactive = await api.get(GROUP_FORM)

    assert [guest.status_code, inactive.status_code] == [404, 404]
    assert (await api.get("/collab/v1/templates/x/")).json()["code"] == "malformedId"


@pytest.mark.parametrize("user", [ADA, BEN])
async def test_the_audience_decides(estate: Estate, user: UserId) -> None:
    fixture = TemplateFixture(estate, administrator(ADA))
    made = await fixture.create({"audience": {"users": [str(ADA)], "groups": [STAFF]}})

    offered = await fixture.templates.read_offered(mail_caller_of(user), made, area=MAIL)

    assert (offered.stored.head.id, offered.labels) == (made, ())
    assert offered.domains == ("estate.example", "rooms.estate.example")


async def test_others_may_not_use_it(estate: Estate) -> None:
    fixture = TemplateFixture(estate, administrator(ADA))
    made = await fixture.create({"audience": {"users": [], "groups": [STAFF]}})

    with pytest.raises(Forbidden) as refused:
        await fixture.templates.read_offered(mail_caller_of(NOBODY), made, area=MAIL)
    assert refused.value.code == "templateNotAllowed"
    # Audiences restrict users only.
    automation = application("Mail.Manage.ReadWrite.All")
    assert (await fixture.templates.read_offered(automation, made, area=MAIL)).stored.head.id == made


async def test_a_preview_gets_a_form_for_a_minute(estate: Estate) -> None:
    fixture = TemplateFixture(estate, administrator(ADA))
    made = await fixture.create({"audience": {"users": [str(BEN)], "groups": []}})
    find = fixture.templates.read_offered_recently
    first = await find(mail_caller_of(BEN), made, area=MAIL)
    await fixture.replace(made, {"audience": {"users": [str(ADA)], "groups": []}})

    assert await find(mail_caller_of(BEN), made, area=MAIL) is first
    with pytest.raises(Forbidden):
        await find(mail_caller_of(NOBODY), made, area=MAIL)
    with pytest.raises(NotFound):
        await find(caller_of(BEN), made, area=COLLAB)
    with pytest.raises(Forbidden):
        await find(caller_of(BEN), made, area=MAIL)
    estate.moment += timedelta(seconds=60)
    with pytest.raises(Forbidden):
        await find(mail_caller_of(BEN), made, area=MAIL)


async def test_a_team_has_the_labels_of_the_directory(estate: Estate) -> None:
    templates = TemplateFixture(estate, administrator(ADA)).templates

    offered = await templates.read_offered(caller_of(BEN), CONFIDENTIAL_TEAM, area=COLLAB)

    assert [label.display_name for label in offered.labels or ()] == ["Confidential", "Internal"]


async def test_the_directory_is_needed_for_groups_of_the_audience_only(estate: Estate) -> None:
    fixture = TemplateFixture(estate, administrator(ADA))
    made = await fixture.create({"audience": {"users": [], "groups": [STAFF]}})
    estate.people.error = TryAgain(timedelta(seconds=3), "Busy.")

    form = await fixture.templates.read_offered(caller_of(BEN), PROJECT_GROUP, area=COLLAB)

    assert form.labels is None
    with pytest.raises(Unavailable) as refused:
        await fixture.templates.read_offered(mail_caller_of(BEN), made, area=MAIL)
    assert refused.value.code == "overloaded"


@pytest.mark.parametrize(
    ("caller", "template_id"),
    [
        (caller_of(ADA), ROOM_MAILBOX),
        (caller_of(ADA), OTHER_GROUP),
        (caller_of(ZOE, OTHER_HOUSE), PROJECT_GROUP),
        (caller_of(ADA), TemplateId(UUID("7e000000-0000-4000-8000-0000000000ff"))),
    ],
)
async def test_templates_of_another_area_or_tenant_are_not_found(
    estate: Estate, caller: Caller, template_id: TemplateId
) -> None:
    templates = TemplateFixture(estate, administrator(ADA)).templates

    with pytest.raises(NotFound):
        await templates.read_offered(caller, template_id, area=COLLAB)


def fields(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body["customFields"]
    return found
