# SPDX-License-Identifier: Apache-2.0
"""A repeated request is the same request, in every process."""

import asyncio
from collections.abc import Mapping

import httpx2

from tests.services import ADA_MAIL, CLEO_MAIL, GROUP_TEMPLATE, TEAM_TEMPLATE, Installation, Service

BODY = {"displayName": "Once", "templateId": GROUP_TEMPLATE}


def test_it_works_for_fifty_at_once(installation: Installation) -> None:
    body, key = BODY | {"displayName": "Fifty at once"}, {"Idempotency-Key": "fifty"}

    answers = asyncio.run(post_at_once(installation, [(body, key)] * 50))

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    replayed = [answer.headers.get("idempotency-replayed") for answer in answers]
    assert (replayed.count(None), replayed.count("true")) == (1, 49)
    request_id = answers[0].json()["requestId"]
    installation.other.wait_for_group(request_id)
    found = installation.other.graph("/groups?$filter=displayName eq 'Fifty at once'").json()["value"]
    assert [group["chamberlain_group"]["requestId"] for group in found] == [request_id]


def test_it_replays_an_answer_to_a_body_that_is_written_otherwise(installation: Installation) -> None:
    headers = installation.one.headers() | {"Idempotency-Key": "written", "content-type": "application/json"}
    first = b'{"displayName": "Written", "templateId": "%s", "memberShipType": 1}' % GROUP_TEMPLATE.encode()
    again = b'{ "memberShipType":1.0,\n"templateId":"%s","displayName":"Wr\\u0069tten"}' % GROUP_TEMPLATE.encode()

    answers = [httpx2.post(installation.one.groups_url, content=body, headers=headers) for body in (first, again)]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["idempotency-replayed"] == "true"


def test_it_rejects_another_body_under_the_same_key(installation: Installation) -> None:
    key = {"Idempotency-Key": "reused"}
    assert installation.one.post_group(BODY, **key).status_code == 202

    answer = installation.other.post_group(BODY | {"displayName": "Twice"}, **key)

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotencyKeyReused")


def test_it_keeps_keys_of_two_callers_apart(installation: Installation) -> None:
    key = {"Idempotency-Key": "everybody-takes-this-one"}

    adas, cleos = (installation.one.post_group(BODY, who, **key) for who in (ADA_MAIL, CLEO_MAIL))

    assert (adas.status_code, cleos.status_code) == (202, 202)
    assert adas.json()["requestId"] != cleos.json()["requestId"]


def test_it_does_not_keep_a_refusal(service: Service) -> None:
    key = {"Idempotency-Key": "first-refused"}
    assert service.post_group({"displayName": "Team", "templateId": TEAM_TEMPLATE}, CLEO_MAIL, **key).status_code == 403

    answer = service.post_group(BODY, CLEO_MAIL, **key)

    assert answer.status_code == 202
    assert "idempotency-replayed" not in answer.headers


def test_it_rejects_a_key_that_cannot_be_one(service: Service) -> None:
    for key in ("two words", "x" * 256):
        answer = service.post_group(BODY, **{"Idempotency-Key": key})

        assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")


async def post_at_once(
    installation: Installation, calls: list[tuple[Mapping[str, object], Mapping[str, str]]]
) -> list[httpx2.Response]:
    """Every call on a connection of its own, in turn to the one and to the other."""
    everybody = [installation.one, installation.other]
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=len(calls)), timeout=30) as client:
        asked = [
            client.post(at.groups_url, json=body, headers=at.headers() | dict(headers))
            for (body, headers), at in zip(calls, everybody * len(calls), strict=False)
        ]
        return await asyncio.gather(*asked)
