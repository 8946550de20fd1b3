# SPDX-License-Identifier: Apache-2.0
"""Lists of mailboxes in pages: filters, bounds, and cursors that are good for nothing else."""

from dataclasses import replace
from uuid import UUID

import httpx2
import pytest

from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import MailboxId, RequestId
from chamberlain.core.paging import PageWanted, Position
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType
from chamberlain.mailboxes.models import MailboxFilter, ProvisioningState
from tests.http.http_fixture import CALLERS, MOMENT, HttpFixture, mailbox_record

PATH = "/mail/v1/mailboxes/"
CALLER = CALLERS["Bearer mail"]


@pytest.fixture(autouse=True)
def signed_in(api: httpx2.AsyncClient) -> None:
    """As Ada with the permission for mailboxes, where a test does not say otherwise."""
    api.headers["authorization"] = "Bearer mail"


def fill(http_fixture: HttpFixture, number: int) -> None:
    """Let the house have some mailboxes."""
    record = mailbox_record(CALLER, MailboxOrder("Atlas", "Room Atlas", capacity=12))
    for each in range(1, number + 1):
        mailbox_id, request_id = MailboxId(UUID(int=1000 + each)), RequestId(UUID(int=each))
        http_fixture.mailboxes[mailbox_id] = replace(record, id=mailbox_id, request_id=request_id)


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    fill(http_fixture, 2)

    answer = await api.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == {
        "items": [(await api.get(f"{PATH}{each}/")).json() for each in http_fixture.mailboxes],
        "nextCursor": None,
    }
    assert http_fixture.mailbox_lists == [(CALLER, MailboxFilter(), PageWanted(50, None))]


async def test_without_any_there_is_an_empty_page(api: httpx2.AsyncClient) -> None:
    assert (await api.get(PATH)).json() == {"items": [], "nextCursor": None}


async def test_it_hands_on_every_filter(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    await api.get(f"{PATH}?type=equipment&provisioningState=pendingApproval&q=Z%C3%BC%20r&limit=7")

    wanted = MailboxFilter(MailboxType.EQUIPMENT, ProvisioningState.PENDING_APPROVAL, "Zü r")
    assert http_fixture.mailbox_lists == [(CALLER, wanted, PageWanted(7, None))]


@pytest.mark.parametrize("state", ProvisioningState)
async def test_every_state_is_a_filter(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, state: ProvisioningState
) -> None:
    assert (await api.get(f"{PATH}?provisioningState={state}")).status_code == 200
    assert http_fixture.mailbox_lists[0][1] == MailboxFilter(provisioning_state=state)


async def test_the_cursor_leads_to_the_next_page(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    fill(http_fixture, 3)

    first = (await api.get(f"{PATH}?limit=2&type=room")).json()
    # The limit may change, and so may the way in which the same list is written.
    answer = await api.get(f"/mail/v1/mailboxes?type=room&cursor={first['nextCursor']}&limit=5")

    assert len(first["items"]) == 2
    assert answer.status_code == 200
    assert http_fixture.mailbox_lists[-1][2] == PageWanted(5, Position(MOMENT, UUID(int=2)))


@pytest.mark.parametrize("query", ["", "type=shared", "type=room&q=a", "type=room&provisioningState=active"])
async def test_it_rejects_a_cursor_of_other_filters(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, query: str
) -> None:
    fill(http_fixture, 2)
    cursor = (await api.get(f"{PATH}?limit=1&type=room")).json()["nextCursor"]

    answer = await api.get(f"{PATH}?cursor={cursor}&{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


async def test_it_rejects_a_cursor_of_somebody_else_and_of_another_list(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    fill(http_fixture, 2)
    cursor = (await api.get(f"{PATH}?limit=1")).json()["nextCursor"]

    others = await api.get(f"{PATH}?cursor={cursor}", headers={"authorization": "Bearer mail manager"})
    elsewhere = await api.get(f"/mail/v1/templates/?cursor={cursor}")

    assert [others.json()["code"], elsewhere.json()["code"]] == ["invalidCursor"] * 2


@pytest.mark.parametrize("cursor", ["", "x", "A" * 200, "%00", "===="])
async def test_it_rejects_a_cursor_that_is_none(api: httpx2.AsyncClient, cursor: str) -> None:
    answer = await api.get(f"{PATH}?cursor={cursor}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidCursor")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=201", "limit=1.0", "limit=", "type=group", "type=Room", "type=", "provisioningState=running",
        "provisioningState=", "q=", "q=%00", "q=a%0Ab", "q=" + "x" * 257, "type=room&type=shared", "q=a&q=a",
    ],
)  # fmt: skip
async def test_it_rejects_what_a_parameter_cannot_be(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, query: str
) -> None:
    answer = await api.get(f"{PATH}?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert query.partition("=")[0] in answer.json()["detail"]
    assert not http_fixture.mailbox_lists


async def test_it_takes_the_longest_beginning(api: httpx2.AsyncClient) -> None:
    assert (await api.get(f"{PATH}?q={'x' * 256}&limit=200")).status_code == 200


@pytest.mark.parametrize("query", ["state=failed", "Type=room", "mine=true"])
async def test_it_rejects_a_parameter_that_there_is_not(api: httpx2.AsyncClient, query: str) -> None:
    answer = await api.get(f"{PATH}?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "unknownParameter")


@pytest.mark.parametrize(
    "who", ["Bearer mail", "Bearer administrator", "Bearer mail manager", "Bearer mail automation"]
)
async def test_users_and_applications_with_a_permission_may(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, who: str
) -> None:
    assert (await api.get(PATH, headers={"authorization": who})).status_code == 200
    assert http_fixture.mailbox_lists[0][0] == CALLERS[who]


@pytest.mark.parametrize("who", ["Bearer ada", "Bearer powerless", "Bearer automation"])
async def test_it_rejects_callers_without_the_permission(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, who: str
) -> None:
    answer = await api.get(PATH, headers={"authorization": who})

    assert (answer.status_code, answer.json()["code"]) == (403, "insufficientScope")
    assert not http_fixture.mailbox_lists


async def test_it_rejects_those_who_are_no_administrators(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.refusal = Forbidden("notAdministrator", "Only administrators may do this.")

    answer = await api.get(PATH, headers={"authorization": "Bearer administrator"})

    assert (answer.status_code, answer.json()["code"]) == (403, "notAdministrator")
