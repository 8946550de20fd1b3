# SPDX-License-Identifier: Apache-2.0
"""Approval with real processes: asked for on one, decided on another, made by a worker."""

import asyncio

import httpx2

from tests.services import ADA_MAIL, API, APPROVED_TEMPLATE, BEN, CLEO_MAIL, COLLAB, Installation, Service, wait_until

DARA_MAIL, BEN_MAIL = "dara@estate.example", "ben@estate.example"
DARA = "da7a0000-0000-4000-8000-000000000004"
CONFIG = f"{API}/admin/Config.ReadWrite.All"


def ask(service: Service, name: str, who: str = ADA_MAIL) -> str:
    """Ask for a confidential team, which Dara has to approve."""
    answer = service.post_group({"displayName": name, "templateId": APPROVED_TEMPLATE}, who)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def post(
    service: Service, path: str, who: str, scope: str = COLLAB, body: dict[str, object] | None = None
) -> httpx2.Response:
    headers = service.headers(who, scope)
    return httpx2.post(f"{service.url}/requests/v1/{path}", headers=headers, json=body or {}, timeout=30)


def test_it_works(installation: Installation) -> None:
    request_id = ask(installation.one, "Takeover")
    listed = installation.other.get("/requests/v1/?toDecide=true", DARA_MAIL).json()["items"]

    answer = post(installation.other, f"{request_id}/approve/", DARA_MAIL, body={"comment": "fine"})

    assert request_id in [each["requestId"] for each in listed]
    assert (answer.status_code, answer.json()["state"]) == (200, "queued")
    made = installation.one.wait_for_end(request_id)
    assert made["result"]
    assert installation.one.find_group(request_id)
    ((decision,),) = [each["decisions"] for each in answer.json()["approvals"]]
    assert (decision["by"]["displayName"], decision["outcome"], decision["comment"]) == (
        "Dara Lindqvist",
        "approved",
        "fine",
    )


def test_its_timeline_tells_of_the_decision(installation: Installation) -> None:
    request_id = ask(installation.one, "Told")
    assert post(installation.other, f"{request_id}/reject/", DARA_MAIL).json()["state"] == "rejected"

    told = installation.one.get(f"/requests/v1/{request_id}/events/").text

    assert [line.removeprefix("event: ") for line in told.splitlines() if line.startswith("event")] == [
        "state",
        "approval",
        "state",
    ]
    assert '"outcome":"rejected"' in told


def test_an_administrator_helps_what_is_blocked(installation: Installation) -> None:
    request_id = ask(installation.one, "Merger", DARA_MAIL)
    blocked = installation.other.request(request_id, DARA_MAIL)

    refused = post(installation.other, f"{request_id}/approve/", DARA_MAIL)
    named = post(installation.one, f"{request_id}/approvers/", ADA_MAIL, CONFIG, body={"level": 1, "userIds": [BEN]})
    approved = post(installation.other, f"{request_id}/approve/", BEN_MAIL)

    assert (blocked["state"], blocked["blocked"]) == ("pendingApproval", "noApprover")
    assert (refused.status_code, refused.json()["code"]) == (403, "selfApproval")
    assert (named.status_code, named.json()["blocked"]) == (200, None)
    assert approved.json()["state"] == "queued"
    assert post(installation.one, f"{request_id}/approve/", BEN_MAIL).status_code == 409


def test_approving_and_rejecting_on_two_processes_at_once_has_one_winner(installation: Installation) -> None:
    asked = [ask(installation.one, f"Raced {number}") for number in range(10)]

    async def at_once() -> list[tuple[httpx2.Response, httpx2.Response]]:
        headers = installation.one.headers(DARA_MAIL), installation.other.headers(DARA_MAIL)
        async with httpx2.AsyncClient(timeout=30) as client:
            calls = [
                asyncio.gather(
                    client.post(f"{installation.one.url}/requests/v1/{each}/approve/", headers=headers[0]),
                    client.post(f"{installation.other.url}/requests/v1/{each}/reject/", headers=headers[1]),
                )
                for each in asked
            ]
            return [(one, other) for one, other in await asyncio.gather(*calls)]

    answers = asyncio.run(at_once())

    for request_id, pair in zip(asked, answers, strict=True):
        assert sorted(each.status_code for each in pair) == [200, 409]
        approvals = installation.one.request(request_id)["approvals"]
        assert isinstance(approvals, list)
        assert len(approvals[0]["decisions"]) == 1


def test_a_worker_opens_the_next_level(installation: Installation) -> None:
    levels = [
        {"mode": "any", "approvers": [{"type": "user", "id": DARA}]},
        {"mode": "all", "approvers": [{"type": "manager"}]},
    ]
    template = {"kind": "group", "name": "Two levels", "approval": {"levels": levels, "deadlineDays": 1}}
    headers = installation.one.headers(ADA_MAIL, CONFIG)
    path = f"{installation.one.url}/admin/collab/v1/templates/"
    made = httpx2.post(path, headers=headers, json=template, timeout=30).json()
    wanted = {"displayName": "Two levels", "templateId": made["id"]}
    request_id = installation.one.post_group(wanted, CLEO_MAIL).json()["requestId"]
    assert post(installation.other, f"{request_id}/approve/", DARA_MAIL).json()["state"] == "pendingApproval"

    def second_state() -> str:
        approvals = installation.one.request(request_id, CLEO_MAIL)["approvals"]
        assert isinstance(approvals, list)
        return str(approvals[1]["state"])

    wait_until(lambda: second_state() == "pending", 10, installation.one.said)
    assert post(installation.one, f"{request_id}/approve/", BEN_MAIL).json()["state"] == "queued"
    installation.one.wait_for_group(request_id, who=CLEO_MAIL)
