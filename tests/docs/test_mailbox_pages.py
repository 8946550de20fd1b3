# SPDX-License-Identifier: Apache-2.0
"""The pages about mailboxes do what they say, word for word, and every refusal that they name is given."""

import json
import re
from collections.abc import Mapping

import httpx2
import pytest

from tests.docs.commands import Json, documents, outputs
from tests.docs.pages import ROOT, rows, section, shell_blocks
from tests.services import API, BEN, CLEO, Service

pytestmark = pytest.mark.heavy

HOW_TO = ROOT / "docs" / "how-to"
ELI = "e1100000-0000-4000-8000-000000000005"
ROOM_TEMPLATE = "7e000000-0000-4000-8000-000000000003"
MAILBOXES, TEMPLATES = "/mail/v1/mailboxes/", "/admin/mail/v1/templates/"
SCOPES = {MAILBOXES: f"{API}/mail/App.ReadWrite.All", TEMPLATES: f"{API}/admin/Config.ReadWrite.All"}


def body_of(page: str) -> dict[str, Json]:
    """The body that a page writes to a file."""
    text = "".join(shell_blocks(HOW_TO / page))
    (written,) = re.findall(r"^cat > [\w-]+\.json <<'END'\n(\{\n.*?^\})\nEND$", text, re.MULTILINE | re.DOTALL)
    body: dict[str, Json] = json.loads(written)
    return body


def holds(record: Mapping[str, Json], body: Mapping[str, Json]) -> bool:
    """Whether a record shows all that was sent."""
    return {name: record[name] for name in body} == body


def test_it_works_for_a_shared_mailbox(service: Service) -> None:
    body = body_of("shared-mailbox.md")

    ahead, asked, listed, *http = outputs(service, *shell_blocks(HOW_TO / "shared-mailbox.md"))
    previewed, created, found, user, settings = documents("".join(http))

    assert "support-desk@estate.example" in ahead
    assert "support-desk@estate.example" in asked
    assert "support-desk@estate.example" in listed
    assert previewed["conflicts"] == []
    assert (created["provisioningState"], created["primarySmtpAddress"]) == ("active", "sales-desk@estate.example")
    assert holds(created, body)
    assert [each["id"] for each in found["items"]] == [created["id"]]
    assert user["accountEnabled"] is False
    assert user["proxyAddresses"] == ["SMTP:sales-desk@estate.example", "smtp:offers@estate.example"]
    assert settings["userPurpose"] == "shared"
    assert settings["automaticRepliesSetting"]["externalReplyMessage"] == body["automaticReply"]
    mailbox = settings["mailbox"]
    assert (mailbox["quotaMegabytes"], mailbox["owners"]) == (2048, [BEN, ELI])
    assert {each["userId"]: each["accessRight"] for each in mailbox["permissions"]} == {
        BEN: "FullAccess",
        CLEO: "SendAs",
    }


def test_it_works_for_equipment(service: Service) -> None:
    body = body_of("equipment.md")

    asked, listed, *http = outputs(service, *shell_blocks(HOW_TO / "equipment.md"))
    created, settings = documents("".join(http))

    assert "van-1@estate.example" in asked
    assert "van-1@estate.example" in listed
    assert (created["type"], created["templateSource"], created["provisioningState"]) == (
        "equipment",
        "default",
        "active",
    )
    assert holds(created, body)
    assert settings["userPurpose"] == "equipment"
    assert settings["mailbox"]["automateProcessing"] == "AutoAccept"
    assert settings["mailbox"]["resourceCapacity"] == body["capacity"]
    assert settings["mailbox"]["additionalResponse"] == body["automaticReply"]


def test_it_works_for_a_room(service: Service) -> None:
    body = body_of("room.md")

    asked, listed, *http = outputs(service, *shell_blocks(HOW_TO / "room.md"))
    created, place, settings = documents("".join(http))

    assert "neuchatel@rooms.estate.example" in asked
    assert "neuchatel@rooms.estate.example" in listed
    assert (created["type"], created["templateSource"], created["provisioningState"]) == ("room", "default", "active")
    assert created["primarySmtpAddress"] == "delemont@rooms.estate.example"
    assert holds(created, body)
    assert (place["capacity"], place["label"]) == (12, body["officeLocation"])
    assert place["videoDeviceName"] == body["videoDeviceName"]
    assert settings["mailbox"]["automateProcessing"] == "AutoAccept"
    assert settings["mailbox"]["additionalResponse"] == body["automaticReply"]
    assert {name: settings["mailbox"][name] for name in body["roomMailboxMetadata"]} == body["roomMailboxMetadata"]


def test_it_works_for_templates(service: Service) -> None:
    body = body_of("mailbox-templates.md")

    _, asked, changed, default, _, former, *http = outputs(service, *shell_blocks(HOW_TO / "mailbox-templates.md"))
    created, offered, refused, replaced, stale = documents("".join(http))

    assert "board-jura@rooms.estate.example" in asked
    assert "Rooms with a reception and coffee" in changed
    assert "board-alps@rooms.estate.example" in default
    assert ROOM_TEMPLATE in former
    assert holds(created, {name: body[name] for name in ("name", "defaults", "naming", "audience")})
    assert created["id"] in [each["id"] for each in offered["items"]]
    assert [fault["code"] for fault in refused["errors"]] == ["customFieldRequired", "customFieldInvalid"]
    assert replaced["description"] == "Rooms with a reception and coffee"
    assert stale["code"] == "etagStale"
    gone = httpx2.get(f"{service.url}{TEMPLATES}{created['id']}/", headers=service.headers(scope=SCOPES[TEMPLATES]))
    assert gone.status_code == 404


def test_a_default_that_was_deleted_leaves_none_and_one_that_is_not_active_makes_nothing(service: Service) -> None:
    """Statements of the page about templates that have no command."""
    template = f"{service.url}{TEMPLATES}{ROOM_TEMPLATE}/"
    headers = service.headers(scope=SCOPES[TEMPLATES])
    before = httpx2.get(template, headers=headers).json()
    room = {"name": "Nowhere", "displayName": "Nowhere", "roomMailboxMetadata": {}}

    httpx2.put(template, headers=headers, json={**before, "active": False}).raise_for_status()
    try:
        by_default = answer(service, MAILBOXES, room)
        by_name = answer(service, MAILBOXES, {**room, "templateId": ROOM_TEMPLATE})
    finally:
        httpx2.put(template, headers=headers, json=before).raise_for_status()

    assert (by_default, by_name) == ("422 `noDefaultTemplate`", "422 `templateInactive`")


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("shared-mailbox.md", MAILBOXES),
        ("equipment.md", MAILBOXES),
        ("room.md", MAILBOXES),
        ("mailbox-templates.md", TEMPLATES),
    ],
)
def test_every_refusal_that_a_page_names_is_given(service: Service, page: str, path: str) -> None:
    table = [
        (json.loads(row[0].split("`")[1]), row[1]) for row in rows(section(HOW_TO / page, "## When it is refused"))
    ]
    body = body_of(page)
    # The page has made these by then, whichever test came first.
    answer(service, path, body)

    given = [(changes, answer(service, path, {**body, **changes})) for changes, _ in table]

    assert len(table) > 5
    assert given == table


def answer(service: Service, path: str, body: Mapping[str, Json]) -> str:
    """The status and the one code of the answer, as the tables write them."""
    answered = httpx2.post(f"{service.url}{path}", json=body, headers=service.headers(scope=SCOPES[path]), timeout=20)
    document = answered.json()
    codes = {fault["code"] for fault in document.get("errors", [])} or {document.get("code")}
    return f"{answered.status_code} `{'`, `'.join(sorted(map(str, codes)))}`"
