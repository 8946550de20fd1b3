# SPDX-License-Identifier: Apache-2.0
"""Listing, cancelling and retrying with real processes: what one of them began, the other goes on with."""

import asyncio

import httpx2

from tests.postgres import connected
from tests.services import ADA_MAIL, APPROVED_TEMPLATE, GROUP_TEMPLATE, Installation, Service, wait_until

BEN_MAIL = "ben@estate.example"


def secret(name: str) -> dict[str, str]:
    """A group that waits for its approval; no two may have one name while they wait."""
    return {"displayName": name, "templateId": APPROVED_TEMPLATE}


def post(service: Service, path: str, who: str = ADA_MAIL, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{service.url}{path}", headers={**service.headers(who), **headers}, timeout=30)


def test_it_works_to_page_through_on_two_processes(installation: Installation) -> None:
    wanted = {"displayName": "Paged", "templateId": GROUP_TEMPLATE}
    made = [installation.one.post_group(wanted, BEN_MAIL).json()["requestId"] for _ in range(5)]

    found: list[str] = []
    query, processes = "?kind=group&limit=2", [installation.one, installation.other] * 50
    for process in processes:
        page = process.get(f"/requests/v1/{query}", BEN_MAIL).json()
        found += [item["requestId"] for item in page["items"]]
        if page["nextCursor"] is None:
            break
        query = f"?limit=2&kind=group&cursor={page['nextCursor']}"

    assert [each for each in found if each in made] == made[::-1]
    assert len(set(found)) == len(found)


def test_fifty_who_cancel_at_once_with_one_key_get_one_answer(installation: Installation) -> None:
    request_id = installation.one.post_group(secret("Cancelled by fifty")).json()["requestId"]
    path, key = f"/requests/v1/{request_id}/cancel/", {"idempotency-key": f"cancel {request_id}".replace(" ", "-")}

    async def at_once() -> list[httpx2.Response]:
        everybody = [installation.one, installation.other] * 25
        calls = [(each.url, each.headers() | key) for each in everybody]
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=50), timeout=30) as client:
            return await asyncio.gather(*[client.post(f"{url}{path}", headers=headers) for url, headers in calls])

    answers = asyncio.run(at_once())

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    replayed = [answer.headers.get("idempotency-replayed") for answer in answers]
    assert (replayed.count(None), replayed.count("true")) == (1, 49)
    assert (answers[0].json()["state"], answers[0].json()["actions"]) == ("cancelled", [])


def test_it_rejects_a_second_cancelling_without_the_key(installation: Installation) -> None:
    request_id = installation.one.post_group(secret("Cancelled twice")).json()["requestId"]
    assert post(installation.one, f"/requests/v1/{request_id}/cancel/").status_code == 200

    answer = post(installation.other, f"/requests/v1/{request_id}/cancel/")

    assert (answer.status_code, answer.json()["code"]) == (409, "stateDoesNotAllow")


def test_it_rejects_whoever_did_not_ask(installation: Installation) -> None:
    request_id = installation.one.post_group(secret("Not yours")).json()["requestId"]

    answers = [post(installation.other, f"/requests/v1/{request_id}/{verb}/", BEN_MAIL) for verb in ("cancel", "retry")]

    assert [answer.json()["code"] for answer in answers] == ["notFound", "notFound"]


def test_what_failed_is_retried_and_ends_well(service: Service) -> None:
    request_id = service.post_group({"displayName": "Retried", "templateId": GROUP_TEMPLATE}).json()["requestId"]
    service.wait_for_end(request_id)

    async def fail() -> None:
        async with connected(service.embedded_addresses.worker) as connection:
            await connection.execute(
                "UPDATE chamberlain.request SET state = 'failed', result = NULL WHERE request_id::text = $1", request_id
            )

    asyncio.run(fail())
    assert service.request(request_id)["actions"] == ["cancel", "retry"]

    answer = post(service, f"/requests/v1/{request_id}/retry/")

    assert (answer.status_code, answer.json()["state"]) == (200, "queued")
    wait_until(lambda: service.request(request_id)["state"] == "succeeded", 10, service.said)
    assert len(service.find_group(request_id)) == 1


def test_there_is_a_sweep_in_every_installation(service: Service) -> None:
    async def jobs() -> list[tuple[object, ...]]:
        async with connected(service.embedded_addresses.worker) as connection:
            found = await connection.fetch(
                "SELECT held_reason, run_at > now() + interval '10 min' FROM chamberlain.job "
                "WHERE kind = 'retentionSweep'"
            )
        return [tuple(row.values()) for row in found]

    wait_until(lambda: asyncio.run(jobs()) == [(None, True)], 10, service.said)
