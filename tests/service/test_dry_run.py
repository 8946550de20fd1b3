# SPDX-License-Identifier: Apache-2.0
"""A dry run against the running service: it is as the request would be, and nothing is left of it."""

from collections.abc import Mapping

import httpx2

from tests.services import ADA, ADA_MAIL, APPROVED_TEMPLATE, CLEO_MAIL, TEAM_TEMPLATE, TLS, Installation, Service


def preview(service: Service, body: Mapping[str, object], who: str = ADA_MAIL, **headers: str) -> httpx2.Response:
    address = f"{service.groups_url}?dryRun=true"
    return httpx2.post(address, json=body, headers={**service.headers(who), **headers}, timeout=30, verify=TLS)


def test_it_works(installation: Installation) -> None:
    answer = preview(installation.one, {"displayName": "Dry", "templateId": APPROVED_TEMPLATE})

    assert answer.status_code == 200
    assert answer.json() == {
        "dryRun": True,
        "kind": "team",
        "template": {"id": APPROVED_TEMPLATE, "name": "Confidential team"},
        "templateSource": "request",
        "displayName": "CONF-Dry",
        "mailNickname": "conf-dry",
        "address": "conf-dry@estate.example",
        "memberShipType": 0,
        "owners": [{"id": ADA, "displayName": "Ada Achterberg"}],
        "memberCount": 1,
        "approvalRequired": True,
        "approvals": [
            {
                "level": 1,
                "mode": "any",
                "approvers": [{"id": "da7a0000-0000-4000-8000-000000000004", "displayName": "Dara Lindqvist"}],
            }
        ],
        "steps": [
            {"name": "createGroup", "title": "Create the group"},
            {"name": "createTeam", "title": "Make the group a team"},
            {"name": "createChannels", "title": "Create the channels"},
        ],
        "conflicts": [],
        "warnings": [],
        "warningReasons": [],
    }


def test_the_preview_shows_what_is_created_under_the_same_key(installation: Installation) -> None:
    body, key = {"displayName": "Previewed", "templateId": TEAM_TEMPLATE}, {"Idempotency-Key": "previewed"}
    previewed = [preview(installation.one, body, **key).json() for _ in range(2)]

    accepted = installation.one.post_group(body, **key)

    assert accepted.status_code == 202
    assert "idempotency-replayed" not in accepted.headers
    group = installation.other.wait_for_group(accepted.json()["requestId"])
    steps = installation.other.request(accepted.json()["requestId"])["steps"]
    assert previewed[0] == previewed[1]
    assert (group["displayName"], group["mail"]) == (previewed[0]["displayName"], previewed[0]["address"])
    assert isinstance(steps, list)
    assert [{"name": step["name"], "title": step["title"]} for step in steps] == previewed[0]["steps"]


def test_it_tells_what_is_taken(installation: Installation) -> None:
    body = {"displayName": "Taken", "templateId": APPROVED_TEMPLATE}
    assert installation.one.post_group(body).status_code == 202

    answer = preview(installation.other, body)

    refused = installation.other.post_group(body)
    assert (answer.status_code, refused.status_code) == (200, 409)
    assert answer.json()["conflicts"] == refused.json()["errors"]
    assert [(each["code"], each["pointer"]) for each in refused.json()["errors"]] == [("addressTaken", "/displayName")]


def test_it_rejects_what_the_request_would_be_refused_for(installation: Installation) -> None:
    body = {"displayName": "Unlicensed", "templateId": TEAM_TEMPLATE}

    answer = preview(installation.one, body, CLEO_MAIL)

    assert (answer.status_code, answer.json()["code"]) == (403, "teamLicenseRequired")
