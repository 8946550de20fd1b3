# SPDX-License-Identifier: Apache-2.0
"""Mailboxes by chance, over the whole API and the real database: no body is answered with a fault of ours, and what is
accepted reads back as it was sent."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chamberlain.app.routes import create_app
from chamberlain.auth.models import Caller
from chamberlain.core.ids import RequestId
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.embedded import postgres
from tests.databases import Databases, filled_database
from tests.estates import (
    ADA,
    EQUIPMENT_MAILBOX,
    ROOM_MAILBOX,
    SHARED_MAILBOX,
    Estate,
    mail_caller_of,
    open_estate,
    service_of,
)
from tests.example import configuration_in, example_document
from tests.http.http_fixture import BASE, HttpFixture
from tests.mailboxes.mailbox_strategies import KINDS, Body, changed_bodies, good_bodies, said

PATH = "/mail/v1/mailboxes/"
TEMPLATES = {"shared": str(SHARED_MAILBOX), "equipment": str(EQUIPMENT_MAILBOX), "room": str(ROOM_MAILBOX)}
DEFAULTS: Body = {"country": "Switzerland", "tags": ["by template"], "hideFromGAL": True}
ADDED = {
    "id", "type", "primarySmtpAddress", "templateId", "templateSource", "capacityUnit", "provisioningState",
    "requestId", "error", "warnings", "warningReasons", "createdAt", "createdBy", "updatedAt",
}  # fmt: skip

GOOD = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), good_bodies(kind, TEMPLATES[kind])))
CHANGED = st.sampled_from(KINDS).flatmap(lambda kind: changed_bodies(kind, TEMPLATES[kind]))
# The database is one for all examples, which is what a database is; how long one takes is not the question.
BY_CHANCE = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
async def estate(postgres_server: postgres.Server) -> AsyncIterator[Estate]:
    """The example estate, with a template of rooms that has defaults."""
    async with filled_database(postgres_server, "room_defaults", fill) as databases:
        yield service_of(databases)


async def fill(databases: Databases) -> None:
    document = example_document()
    (room,) = [each for each in document["tenants"][0]["templates"] if each["id"] == TEMPLATES["room"]]
    room["defaults"] = DEFAULTS
    await open_estate(databases, configuration_in(document))


@pytest.fixture
async def api(estate: Estate) -> AsyncIterator[httpx2.AsyncClient]:
    """The whole API with the real service of mailboxes, signed in as Ada."""

    async def verify(_authorization: str | None) -> Caller:
        return mail_caller_of(ADA)

    http_fixture = HttpFixture()
    app = create_app(replace(http_fixture.http(), verify=verify), [estate.mailboxes, *http_fixture.services()])
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        yield client


async def post(api: httpx2.AsyncClient, body: Body, *, escaped: bool, path: str = PATH) -> httpx2.Response:
    """Send a body, all that is not ASCII as it is or as escapes."""
    content = json.dumps(body, ensure_ascii=escaped).encode(errors="surrogatepass")
    return await api.post(path, content=content, headers={"content-type": "application/json"})


async def read_back(api: httpx2.AsyncClient, answer: httpx2.Response, kind: str, body: Body) -> dict[str, Any]:
    """The mailbox as it is read, after a look at whether that is what was sent."""
    shown: dict[str, Any] = (await api.get(f"{PATH}{answer.json()['id']}/")).json()
    wanted = said(body)
    expected = (DEFAULTS if kind == "room" else {}) | {"permissions": {}, "templateId": TEMPLATES[kind]} | wanted
    assert {name: value for name, value in shown.items() if name not in ADDED} == {
        name: value for name, value in expected.items() if name != "templateId"
    }
    assert (shown["type"], shown["templateId"]) == (kind, expected["templateId"])
    assert shown["templateSource"] == ("request" if "templateId" in wanted else "default")
    assert (shown["error"], shown["warnings"]) == (None, [])
    # 12 is not 12.0 in every language.
    assert isinstance(shown.get("capacity", 0), int)
    return shown


@pytest.mark.heavy
@BY_CHANCE
@given(one=GOOD, escaped=st.booleans())
async def test_it_works_for_whatever_is_within_the_bounds(
    api: httpx2.AsyncClient, one: tuple[str, Body], *, escaped: bool
) -> None:
    kind, body = one

    previewed = await post(api, body, escaped=escaped, path=f"{PATH}?dryRun=true")
    answer = await post(api, body, escaped=escaped)

    assert (previewed.status_code, answer.status_code) == (200, 202), answer.text
    shown = await read_back(api, answer, kind, body)
    assert answer.json() == shown | {"tenantId": answer.json()["tenantId"], "approvalRequired": False}
    assert previewed.json()["address"] == shown["primarySmtpAddress"]
    assert previewed.json()["conflicts"] == []
    newest = (await api.get(f"{PATH}?limit=1")).json()["items"]
    begins = (await api.get(PATH, params={"q": shown["primarySmtpAddress"], "type": kind})).json()["items"]
    # The number in front, which is its own.
    called = (await api.get(PATH, params={"q": shown["name"][:7]})).json()["items"]
    assert newest == begins == called == [shown]


@pytest.mark.heavy
@BY_CHANCE
@given(body=CHANGED, escaped=st.booleans())
async def test_it_rejects_or_takes_whatever_is_sent_and_never_fails(
    api: httpx2.AsyncClient, body: Body, *, escaped: bool
) -> None:
    previewed = await post(api, body, escaped=escaped, path=f"{PATH}?dryRun=true")
    answer = await post(api, body, escaped=escaped)

    if answer.status_code == 202:
        assert previewed.status_code == 200
        await read_back(api, answer, answer.json()["type"], body)
    elif answer.status_code == 409:
        assert answer.json()["code"] in {"nameTaken", "addressTaken"}
        assert previewed.json()["conflicts"] != []
    else:
        assert answer.status_code == previewed.status_code in {400, 422}, answer.text
        assert answer.json()["code"] in {"notJson", "invalidBody", "notPossible"}
        assert previewed.json().get("errors") == answer.json().get("errors")


def provisioned(shown: Mapping[str, Any], mailbox: ObservedMailbox) -> None:
    """Whether the directory holds what the mailbox says."""
    assert (mailbox.type, mailbox.name, mailbox.display_name, mailbox.mail) == (
        shown["type"],
        shown["name"],
        shown["displayName"],
        shown["primarySmtpAddress"],
    )
    assert mailbox.permissions == {
        user: level
        for user, level in ((user, shown["permissions"].get(str(user))) for user in mailbox.permissions)
        if level != "None"
    }
    granted = {user for user, level in shown["permissions"].items() if level != "None"}
    assert {str(user) for user in mailbox.permissions} == granted
    owners = [shown[name] for name in ("primaryOwner", "secondaryOwner") if name in shown]
    assert [str(owner) for owner in mailbox.owners] == list(dict.fromkeys(owners))
    assert (mailbox.automatic_reply or "", mailbox.address_fields.notes or "") == (
        shown.get("automaticReply", ""),
        shown.get("notes", ""),
    )
    assert mailbox.is_hidden == shown.get("hideFromGAL", False)
    match shown["type"]:
        case "shared":
            assert mailbox.quota_megabytes == shown.get("capacity", mailbox.quota_megabytes)
        case "equipment":
            assert mailbox.capacity == shown.get("capacity")
        case _:
            assert mailbox.place is not None
            assert (mailbox.place.capacity, list(mailbox.place.tags)) == (shown.get("capacity"), shown["tags"])


@settings(BY_CHANCE, max_examples=30)
@given(one=GOOD)
@example(one=("shared", {"name": "000882-line", "displayName": "Atlas\u2028West", "autoMapping": True}))
async def test_it_becomes_active_whatever_it_is(api: httpx2.AsyncClient, estate: Estate, one: tuple[str, Body]) -> None:
    kind, body = one
    answer = await post(api, body, escaped=False)
    assert answer.status_code == 202, answer.text

    await estate.work()

    shown = await read_back(api, answer, kind, body)
    assert shown["provisioningState"] == "active", await estate.record(RequestId(shown["requestId"]))
    mailbox = await estate.mailbox(RequestId(shown["requestId"]))
    assert mailbox is not None
    provisioned(shown, mailbox)


@pytest.mark.parametrize(
    "text", ["\\ud800", "\\udc00\\ud800", "\\ud83d", "\\u0000", "\\ufffe", "\\ud83d\\ude00"], ids=str
)
@pytest.mark.parametrize("name", ["name", "displayName", "city", "notes", "metadata"])
async def test_it_handles_halves_of_characters(api: httpx2.AsyncClient, name: str, text: str) -> None:
    value = f'{{"{text}": "{text}"}}' if name == "metadata" else f'"1{text}"'
    others = "".join(f', "{other}": "2"' for other in {"name", "displayName"} - {name})
    content = f'{{"{name}": {value}{others}, "officeLocation": "HQ"}}'

    answer = await api.post(PATH, content=content, headers={"content-type": "application/json"})

    whole = text in {"\\ufffe", "\\ud83d\\ude00"}
    assert answer.status_code == (202 if whole else 400), answer.text
