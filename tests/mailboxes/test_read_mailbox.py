# SPDX-License-Identifier: Apache-2.0
"""Reading a mailbox over HTTP: whole, and not at all for whom it does not exist."""

from dataclasses import replace
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Forbidden, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import MailboxOrder
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.models import ProvisioningState
from chamberlain.requests.models import RequestError
from tests.http.http_fixture import ADA, CALLERS, MAILBOX_ID, REQUEST, ROOM_TEMPLATE, HttpFixture, mailbox_record

PATH = f"/mail/v1/mailboxes/{MAILBOX_ID}/"
RECORD = mailbox_record(CALLERS["Bearer mail"], MailboxOrder("Atlas", "Room Atlas", office_location="HQ"))
SHOWN: dict[str, object] = {
    "name": "Atlas",
    "displayName": "Room Atlas",
    "officeLocation": "HQ",
    "permissions": {},
    "id": str(MAILBOX_ID),
    "type": "room",
    "primarySmtpAddress": "atlas@rooms.estate.example",
    "templateId": str(ROOM_TEMPLATE),
    "templateSource": "default",
    "capacityUnit": "people",
    "provisioningState": "active",
    "requestId": str(REQUEST),
    "error": None,
    "warnings": [],
    "warningReasons": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:00.000Z",
}


@pytest.fixture
def http_fixture() -> HttpFixture:
    return HttpFixture(mailboxes={MAILBOX_ID: RECORD}, mailbox_state=ProvisioningState.ACTIVE)


@pytest.fixture(autouse=True)
def signed_in(api: httpx2.AsyncClient) -> None:
    """As Ada with the permission for mailboxes, where a test does not say otherwise."""
    api.headers["authorization"] = "Bearer mail"


async def test_it_works(api: httpx2.AsyncClient) -> None:
    answer = await api.get(PATH)

    assert answer.status_code == 200
    assert answer.json() == SHOWN
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"


async def test_it_shows_why_it_has_failed(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    error = RequestError(Step.CREATE_MAILBOX, "addressTaken", "Somebody has it.", ())
    http_fixture.mailboxes[MAILBOX_ID] = replace(
        RECORD, error=error, warnings=(Reason("It is kept and has no effect."),)
    )
    http_fixture.mailbox_state = ProvisioningState.FAILED

    shown = (await api.get(PATH)).json()

    assert shown["provisioningState"] == "failed"
    assert shown["error"] == {"step": "createMailbox", "code": "addressTaken", "detail": "Somebody has it."}
    assert shown["warnings"] == ["It is kept and has no effect."]
    # An older version wrote it.
    assert shown["warningReasons"] == [{"code": None, "detail": "It is kept and has no effect.", "values": None}]


@pytest.mark.parametrize("path", [PATH.rstrip("/"), f"/mail/v1/mailboxes/{str(MAILBOX_ID).upper()}/"])
async def test_it_is_found_however_its_path_is_written(api: httpx2.AsyncClient, path: str) -> None:
    assert (await api.get(path)).json() == SHOWN


@pytest.mark.parametrize(
    "who", ["Bearer mail", "Bearer administrator", "Bearer mail manager", "Bearer mail automation"]
)
async def test_users_and_applications_with_a_permission_may(api: httpx2.AsyncClient, who: str) -> None:
    assert (await api.get(PATH, headers={"authorization": who})).status_code == 200


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer powerless", "Bearer automation"])
async def test_it_rejects_callers_without_the_permission(api: httpx2.AsyncClient, who: str) -> None:
    answer = await api.get(PATH, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")


async def test_it_rejects_what_is_not_there_and_what_another_tenant_has_alike(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    nobodys = await api.get("/mail/v1/mailboxes/0000dead-0000-4000-8000-000000000000/")
    http_fixture.mailboxes[MAILBOX_ID] = replace(RECORD, tenant_id=TenantId(UUID(int=1)))
    theirs = await api.get(PATH)

    assert (nobodys.status_code, nobodys.json()["code"]) == (404, "notFound")
    assert (theirs.status_code, theirs.json()["detail"]) == (404, nobodys.json()["detail"])


@pytest.mark.parametrize("text", ["x", MAILBOX_ID.hex, f"%7B{MAILBOX_ID}%7D", "%00", "%F0%9F%92%A9"])
async def test_it_rejects_an_id_that_is_none(api: httpx2.AsyncClient, text: str) -> None:
    answer = await api.get(f"/mail/v1/mailboxes/{text}/")

    assert (answer.status_code, answer.json()["code"]) == (400, "malformedId")


async def test_it_rejects_a_parameter_that_there_is_not(api: httpx2.AsyncClient) -> None:
    answer = await api.get(f"{PATH}?expand=steps")

    assert (answer.status_code, answer.json()["code"]) == (400, "unknownParameter")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_it_rejects_other_methods(api: httpx2.AsyncClient, method: str) -> None:
    answer = await api.request(method, PATH, json={})

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.parametrize(
    ("refusal", "status"), [(Forbidden("notAdministrator", "No."), 403), (Unavailable("overloaded", "Too much."), 503)]
)
async def test_it_gives_the_refusals_of_the_use_case(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, refusal: Exception, status: int
) -> None:
    http_fixture.refusal = refusal

    assert (await api.get(PATH)).status_code == status
