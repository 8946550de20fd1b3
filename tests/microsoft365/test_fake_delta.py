# SPDX-License-Identifier: Apache-2.0
"""Delta queries of the fake (delta-query-overview.md, group-delta.md)."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, GIL, HANDBOOK, INNER, OUTER, PARTNERS, VISITORS
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.sample import EXTENSION
from tests.microsoft365.fake.tenant import USERS, Tenant
from tests.microsoft365.fake.writes import Lags
from tests.microsoft365.graph_client import FakeToken, code, reference

pytestmark = pytest.mark.pure

SELECTED = "/groups/delta?$select=id,displayName,members,owners"


async def round_of(graph: httpx2.AsyncClient, link: str) -> tuple[list[dict[str, Any]], str]:
    """Follow the pages of a round. Returns the objects and the link of the next round."""
    found: list[dict[str, Any]] = []
    while True:
        answer = await graph.get(link)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["value"]
        if "@odata.deltaLink" in page:
            return found, page["@odata.deltaLink"]
        link = page["@odata.nextLink"]


async def test_it_works(graph: httpx2.AsyncClient) -> None:
    found, link = await round_of(graph, SELECTED)

    assert {each["id"] for each in found} == {str(each) for each in (OUTER, INNER, PARTNERS, VISITORS, HANDBOOK)}
    [partners] = [each for each in found if each["id"] == str(PARTNERS)]
    assert partners.keys() == {"id", "displayName", "members@delta", "owners@delta"}
    assert {"@odata.type": "#microsoft.graph.user", "id": str(ADA)} in partners["owners@delta"]
    assert (await round_of(graph, link))[0] == []


async def test_pages(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    tenant.largest_delta_page = 2

    first = (await graph.get(SELECTED)).json()
    found, _ = await round_of(graph, SELECTED)

    assert len(first["value"]) == 2
    assert "@odata.nextLink" in first
    assert len(found) == 5


async def test_later_changes(graph: httpx2.AsyncClient) -> None:
    _, link = await round_of(graph, SELECTED)
    await graph.patch(f"/groups/{PARTNERS}", json={"displayName": "Friends", "members@odata.bind": [reference(BEN)]})
    await graph.delete(f"/groups/{PARTNERS}/members/{GIL}/$ref")
    await graph.delete(f"/groups/{OUTER}")
    await graph.delete(f"/groups/{INNER}")

    found, _ = await round_of(graph, link)

    by_id = {each["id"]: each for each in found}
    assert by_id[str(PARTNERS)]["displayName"] == "Friends"
    assert by_id[str(PARTNERS)]["members@delta"] == [
        {"@odata.type": "#microsoft.graph.user", "id": str(BEN)},
        {"@odata.type": "#microsoft.graph.user", "id": str(GIL), "@removed": {"reason": "deleted"}},
    ]
    # A Microsoft 365 group can be restored, a security group cannot.
    assert by_id[str(OUTER)]["@removed"] == {"reason": "changed"}
    assert by_id[str(INNER)]["@removed"] == {"reason": "deleted"}


async def test_only_selected_properties_are_tracked(graph: httpx2.AsyncClient) -> None:
    _, link = await round_of(graph, "/groups/delta?$select=displayName")
    await graph.patch(f"/groups/{PARTNERS}", json={"description": "x", "members@odata.bind": [reference(BEN)]})

    assert (await round_of(graph, link))[0] == []


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_extensions(graph: httpx2.AsyncClient, tenant: Tenant, *, is_tracked: bool) -> None:
    """It is not published whether delta queries track them (V4)."""
    tenant.tracks_extensions = is_tracked
    _, link = await round_of(graph, f"/groups/delta?$select=displayName,{EXTENSION}")
    await graph.patch(f"/groups/{PARTNERS}", json={EXTENSION: {"requestId": "r1"}})

    found, _ = await round_of(graph, link)

    assert [each["id"] for each in found] == ([str(PARTNERS)] if is_tracked else [])


async def test_changes_of_users(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    found, link = await round_of(graph, "/users/delta?$select=id,displayName,accountEnabled")
    await graph.patch(f"/users/{GIL}", json={"accountEnabled": False})
    tenant.log.remove(USERS, str(BEN))

    changed, _ = await round_of(graph, link)

    assert len(found) == 5
    assert {each["id"]: each.get("accountEnabled") for each in changed} == {str(GIL): False, str(BEN): None}


async def test_changes_appear_later(graph: httpx2.AsyncClient, tenant: Tenant, clock: Clock) -> None:
    """delta-query-overview.md, "Processing delays"."""
    tenant.lags = Lags(delta=timedelta(minutes=3))
    _, link = await round_of(graph, SELECTED)
    await graph.patch(f"/groups/{PARTNERS}", json={"displayName": "Friends"})

    early, link = await round_of(graph, link)
    clock.wait(timedelta(minutes=3))
    later, _ = await round_of(graph, link)

    assert early == []
    assert [each["displayName"] for each in later] == ["Friends"]


async def test_replays_and_duplicates(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    _, link = await round_of(graph, SELECTED)
    tenant.faults.plan(Fault.DELTA_REPLAY)
    replayed, link = await round_of(graph, link)
    await graph.patch(f"/groups/{PARTNERS}", json={"displayName": "Friends"})
    tenant.faults.plan(Fault.DELTA_DUPLICATE)
    duplicated, _ = await round_of(graph, link)

    assert replayed != []
    assert [each["id"] for each in duplicated] == [str(PARTNERS)] * 2


async def test_a_reset(graph: httpx2.AsyncClient, tenant: Tenant) -> None:
    """delta-query-overview.md, "Synchronization reset"."""
    _, link = await round_of(graph, SELECTED)
    tenant.faults.plan(Fault.DELTA_GONE)

    answer = await graph.get(link)

    assert code(answer) == (410, "Gone")
    assert answer.headers["location"].endswith("$deltatoken=")


async def test_a_token_lasts_seven_days(graph: httpx2.AsyncClient, fake: FakeMicrosoft365, clock: Clock) -> None:
    _, link = await round_of(graph, SELECTED)

    clock.wait(timedelta(days=7))
    graph.auth = FakeToken(fake)
    valid = await graph.get(link)
    clock.wait(timedelta(seconds=1))
    expired = await graph.get(link)

    assert valid.status_code == 200
    assert code(expired) == (400, "syncStateNotFound")


async def test_from_now_on(graph: httpx2.AsyncClient) -> None:
    """delta-query-overview.md, "sync from now"."""
    found, link = await round_of(graph, "/groups/delta?$deltatoken=latest&$select=displayName")
    await graph.patch(f"/groups/{PARTNERS}", json={"displayName": "Friends"})
    later, _ = await round_of(graph, link)

    assert (found, len(later)) == ([], 1)


@pytest.mark.parametrize(
    "query", ["$top=5", "$orderby=displayName", "$expand=members", "$select=colour", "$deltatoken=x"]
)
async def test_refused(graph: httpx2.AsyncClient, query: str) -> None:
    assert (await graph.get(f"/groups/delta?{query}")).status_code == 400


async def test_a_token_of_users_is_none_of_groups(graph: httpx2.AsyncClient) -> None:
    _, link = await round_of(graph, "/users/delta")

    answer = await graph.get(link.replace("/users/", "/groups/"))

    assert code(answer) == (400, "syncStateNotFound")
