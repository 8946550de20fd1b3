# SPDX-License-Identifier: Apache-2.0
"""Requests that arrive together are written together, and are answered each for itself."""

import asyncio
from collections.abc import Mapping, Sequence

import httpx2

from tests.service.estate import NOBODY
from tests.services import APPROVED_TEMPLATE, GROUP_TEMPLATE, Installation, Service

TOGETHER = 64


def test_it_works_for_many_at_once(installation: Installation) -> None:
    bodies = [{"displayName": f"Together {number}", "templateId": GROUP_TEMPLATE} for number in range(TOGETHER)]

    answers = asyncio.run(post_all(installation.one, bodies))

    assert {answer.status_code for answer in answers} == {202}
    ids = [answer.json()["requestId"] for answer in answers]
    assert len(set(ids)) == TOGETHER
    names = [installation.other.wait_for_group(request_id)["displayName"] for request_id in ids]
    assert names == [body["displayName"] for body in bodies]


def test_it_spoils_only_the_bad_ones(installation: Installation) -> None:
    taken = {"displayName": "Taken in a batch", "templateId": APPROVED_TEMPLATE}
    first = installation.one.post_group(taken)
    assert first.status_code == 202, first.text
    holder = first.json()["requestId"]
    bad: dict[int, tuple[dict[str, object], int, str]] = {
        7: ({"displayName": "A NUL \0 in it", "templateId": GROUP_TEMPLATE}, 400, "invalidBody"),
        19: ({"displayName": "Metadata", "templateId": GROUP_TEMPLATE, "metadata": {"k": "\0"}}, 400, "invalidBody"),
        31: (dict(taken), 409, "addressTaken"),
        43: ({"displayName": "Nobody", "templateId": GROUP_TEMPLATE, "owners": [NOBODY]}, 422, "notPossible"),
        63: ({"displayName": "No template", "templateId": NOBODY}, 422, "notPossible"),
    }
    good = {"displayName": "Good", "templateId": GROUP_TEMPLATE}
    bodies = [bad[number][0] if number in bad else good for number in range(TOGETHER)]

    answers = asyncio.run(post_all(installation.one, bodies))

    for number, (_, status, code) in bad.items():
        assert (answers[number].status_code, answers[number].json()["code"]) == (status, code)
    assert answers[31].json()["conflictingId"] == holder
    others = [answer for number, answer in enumerate(answers) if number not in bad]
    assert {answer.status_code for answer in others} == {202}
    for answer in others:
        installation.other.wait_for_group(answer.json()["requestId"])


def test_it_gives_one_name_to_one_of_many_who_ask_at_once(service: Service) -> None:
    body = {"displayName": "Wanted by all", "templateId": APPROVED_TEMPLATE}

    answers = asyncio.run(post_all(service, [body] * 20))

    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 19


async def post_all(service: Service, bodies: Sequence[Mapping[str, object]]) -> list[httpx2.Response]:
    """All bodies at once, each on a connection of its own."""
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=len(bodies)), timeout=30) as client:
        headers = service.headers()
        return await asyncio.gather(*(client.post(service.groups_url, json=body, headers=headers) for body in bodies))
