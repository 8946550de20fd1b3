# SPDX-License-Identifier: Apache-2.0
"""Guest rules from PATCH to the directory, as a user of curl sees them."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from tests.services import ADA_MAIL, API, GRAPH, Service, running_service, wait_until

pytestmark = pytest.mark.heavy

ALL_STAFF = "/admin/collab/v1/manage/groups/94000000-0000-4000-8000-000000000001/"
GROUP = "/groups/94000000-0000-4000-8000-000000000001"
SUPPLIERS = "/admin/collab/v1/manage/spo/51730000-0000-4000-8000-000000000002/"
NO_GUESTS, PARTNERS = "7e000000-0000-4000-8000-000000000021", "7e000000-0000-4000-8000-000000000022"
NINETY_DAYS, YEARLY_REVIEW = "90110000-0000-4000-8000-000000000001", "90110000-0000-4000-8000-000000000002"
ZERO = "00000000-0000-0000-0000-000000000000"
CONFIG = f"{API}/admin/Config.ReadWrite.All"
TOGETHER = 500
NOTHING = {"templateId": ZERO, "policyId": ZERO}

# JSON documents, whose types are what is tested with them.
Json = Any


def patch(service: Service, path: str, body: Mapping[str, object], who: str = ADA_MAIL, **headers: str) -> Json:
    scope = CONFIG if "@" in who else f"{API}/.default"
    answer = httpx2.patch(
        f"{service.url}{path}", json=body, headers={**service.headers(who, scope), **headers}, timeout=20
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def record(service: Service, path: str) -> Json:
    return service.get(path, scope=CONFIG).json()


def settled(service: Service, path: str) -> Json:
    """The record once its effects are there."""

    def look() -> Json:
        found = record(service, path)
        return found if all(each["state"] == "succeeded" for each in found["effects"]) else None

    return wait_until(look, 10, lambda: str(record(service, path)))


def shown(service: Service, path: str) -> Json:
    return service.get(f"/graph/v1.0{path}", "automation", f"{GRAPH}/.default").json()


def test_it_works(service: Service) -> None:
    try:
        patch(service, ALL_STAFF, {"templateId": NO_GUESTS}, "automation")
        done = settled(service, ALL_STAFF)
        settings = shown(service, "/groups/94000000-0000-4000-8000-000000000001/settings")
        group = shown(service, "/groups/94000000-0000-4000-8000-000000000001")
        path = f"/requests/v1/{done['assignmentRequestId']}/"
        request = record(service, path)
        own = service.get(path, "automation", f"{API}/.default").json()
    finally:
        patch(service, ALL_STAFF, NOTHING)
    cleared = settled(service, ALL_STAFF)

    assert done["openFindings"] == 1
    assert (done["assignedBy"]["type"], done["assignedBy"]["displayName"]) == ("application", "automation")
    assert {each["name"]: each["value"] for each in settings["value"][0]["values"]}["AllowToAddGuests"] == "false"
    assert group["chamberlain_group"]["templateId"] == NO_GUESTS
    assert (cleared["openFindings"], cleared["templateId"]) == (0, None)
    assert shown(service, "/groups/94000000-0000-4000-8000-000000000001/settings")["value"] == []
    assert (request["kind"], request["state"], request["template"]["name"]) == ("assignment", "succeeded", "No guests")
    assert own["requestId"] == request["requestId"]


def test_a_site_shares_as_the_template_says(service: Service) -> None:
    try:
        patch(service, SUPPLIERS, {"templateId": NO_GUESTS})
        settled(service, SUPPLIERS)
        site = shown(service, "/groups/51730000-0000-4000-8000-000000000002/sites/root")
    finally:
        patch(service, SUPPLIERS, NOTHING)
    settled(service, SUPPLIERS)

    assert site["sharingCapability"] == "disabled"
    after = shown(service, "/groups/51730000-0000-4000-8000-000000000002/sites/root")
    assert after["sharingCapability"] == "existingExternalUserSharingOnly"


def test_five_hundred_at_once_end_in_what_one_of_them_asked_for(service: Service) -> None:
    wanted = [
        {"templateId": NO_GUESTS, "policyId": NINETY_DAYS},
        {"templateId": PARTNERS, "policyId": YEARLY_REVIEW},
        {"templateId": PARTNERS, "policyId": NINETY_DAYS},
    ]
    headers = service.headers(scope=CONFIG)

    async def together() -> list[httpx2.Response]:
        limits = httpx2.Limits(max_connections=64)
        async with httpx2.AsyncClient(base_url=service.url, headers=headers, timeout=60, limits=limits) as client:
            return await asyncio.gather(*[client.patch(ALL_STAFF, json=wanted[n % 3]) for n in range(TOGETHER)])

    try:
        answers = asyncio.run(together())
        last = settled(service, ALL_STAFF)
        ids = {name: last[name] for name in NOTHING}
        directory = shown(service, GROUP), shown(service, f"{GROUP}/settings")
        history = assigned_one_after_the_other(trail(service, ALL_STAFF))
        patch(service, ALL_STAFF, NOTHING)
        settled(service, ALL_STAFF)
        patch(service, ALL_STAFF, ids)
        settled(service, ALL_STAFF)
        alone = shown(service, GROUP), shown(service, f"{GROUP}/settings")
    finally:
        patch(service, ALL_STAFF, NOTHING)
    settled(service, ALL_STAFF)

    assert {answer.status_code for answer in answers} == {200}
    assert ids in wanted
    # The trail shows the history, and the directory has the result of the last change alone.
    assert history[-1] == ids
    assert {name: directory[0]["chamberlain_group"][name] for name in ids} == ids
    assert directory == alone


def trail(service: Service, path: str) -> list[Json]:
    """Every assignment to a group that is on record, the first one first."""
    found: list[Json] = []
    subject = path.rstrip("/").rpartition("/")[2]
    cursor: str | None = ""
    while cursor is not None:
        page = record(service, f"/admin/v1/audit/?action=group.assign&subjectId={subject}&limit=200{cursor}")
        found = page["items"][::-1] + found
        cursor = page["nextCursor"] and f"&cursor={page['nextCursor']}"
    return found


def assigned_one_after_the_other(rows: list[Json]) -> list[Json]:
    """The assignment after each row. Each has the changes, and continues where the one before it ended."""
    states: list[Json] = [{"templateId": None, "policyId": None}]
    for row in rows:
        before, after = row["before"], row["after"]
        assert after, row
        assert before.keys() == after.keys()
        assert all(before[name] != after[name] for name in after)
        assert states[-1] == {**states[-1], **before}
        states.append({**states[-1], **after})
    return states


def test_the_lists_of_a_service_that_has_just_begun_are_filled_at_once() -> None:
    with running_service() as service:

        def names(path: str) -> list[str]:
            return [each["displayName"] for each in record(service, path)["items"]]

        wait_until(lambda: names("/admin/collab/v1/manage/groups/"), 5)

        assert names("/admin/collab/v1/manage/groups/") == ["All staff"]
        assert names("/admin/collab/v1/manage/spo/") == ["Handbook", "Suppliers"]
