# SPDX-License-Identifier: Apache-2.0
"""Verify calls of webhooks by Standard Webhooks 1.0."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from chamberlain_client.errors import WebhookInvalid
from chamberlain_client.events import EventType, GroupCreated, WebhookDisabled
from chamberlain_client.webhooks import verify_webhook

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER = "whsec_" + base64.b64encode(b"another secret of 32 bytes......").decode()
NOW = 1_800_000_000.0
ID = "e7e00000-0000-4000-8000-000000000001"
EVENT = {
    "type": "group.created",
    "timestamp": "2026-11-20T09:30:01.000Z",
    "requestId": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "tenantId": "e57a7e00-0000-4000-8000-000000000001",
    "data": {
        "group": {"id": ID, "displayName": "Hügel", "mail": "hooked@estate.example", "mailNickname": "hooked"},
        "templateId": "7e000000-0000-4000-8000-000000000011",
        "metadata": {"el-text-1": "x", "yes": True},
        "createdBy": {"type": "user", "id": ID, "displayName": "Ada Achterberg"},
        "more": [],
    },
}
BODY = json.dumps(EVENT, ensure_ascii=False).encode()


def signed(body: bytes = BODY, *secrets: str, at: float = NOW) -> dict[str, str]:
    """Return the headers of a call, signed by the Standard Webhooks library."""
    when = datetime.fromtimestamp(at, UTC)
    signatures = [Webhook(secret).sign(ID, when, body.decode()) for secret in secrets or (SECRET,)]
    return {"Webhook-Id": ID, "webhook-timestamp": str(int(at)), "WEBHOOK-SIGNATURE": " ".join(signatures)}


def test_it_works() -> None:
    event = verify_webhook(BODY, signed(), SECRET, NOW)

    assert (event.id, event.type) == (ID, EventType.GROUP_CREATED)
    assert isinstance(event.data, GroupCreated)
    assert (event.data.group.display_name, event.data.metadata["yes"]) == ("Hügel", True)
    assert event.request_id == UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")


def test_it_agrees_with_the_library() -> None:
    now = datetime.now(UTC).timestamp()
    headers = signed(at=now)

    assert Webhook(SECRET).verify(BODY, headers) == EVENT
    assert verify_webhook(BODY, headers, SECRET).id == ID


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(signed(BODY, OTHER, SECRET), id="two secrets, the newest first"),
        pytest.param(signed(BODY, SECRET, OTHER), id="two secrets, the other way"),
        pytest.param(
            signed() | {"WEBHOOK-SIGNATURE": f"v1a,AAAA v2,x v1 {signed()['WEBHOOK-SIGNATURE']}"}, id="others too"
        ),
        pytest.param(signed(at=NOW - 300), id="five minutes old"),
        pytest.param(signed(at=NOW + 300), id="five minutes ahead"),
    ],
)
def test_it_accepts(headers: Mapping[str, str]) -> None:
    assert verify_webhook(BODY, headers, SECRET, NOW).id == ID


REJECTED = {
    "another secret": signed(BODY, OTHER),
    "another body": signed(BODY + b" "),
    "another id": signed() | {"Webhook-Id": "another"},
    "no id": signed() | {"Webhook-Id": ""},
    "no signature": signed() | {"WEBHOOK-SIGNATURE": ""},
    "a signature of no version": signed() | {"WEBHOOK-SIGNATURE": signed()["WEBHOOK-SIGNATURE"].removeprefix("v1,")},
    "a signature of another version": signed() | {"WEBHOOK-SIGNATURE": f"v2{signed()['WEBHOOK-SIGNATURE'][2:]}"},
    "a signature that is cut": signed() | {"WEBHOOK-SIGNATURE": signed()["WEBHOOK-SIGNATURE"][:-4]},
    "a signature that is no base64": signed() | {"WEBHOOK-SIGNATURE": "v1,ä v1,%%%%"},
    "an empty signature": signed() | {"WEBHOOK-SIGNATURE": "v1,"},
    "too old": signed(at=NOW - 301),
    "too early": signed(at=NOW + 301),
    "a time that is none": signed() | {"webhook-timestamp": "soon"},
    "a time that is no number of ours": signed() | {"webhook-timestamp": "١٨٠٠٠٠٠٠٠٠"},
    "a time without end": signed() | {"webhook-timestamp": "9" * 5000},
    "nothing": {},
}


@pytest.mark.parametrize("why", REJECTED)
def test_it_rejects(why: str) -> None:
    with pytest.raises(WebhookInvalid):
        verify_webhook(BODY, REJECTED[why], SECRET, NOW)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"type": "x"}', "é".encode("latin-1")])
def test_it_rejects_an_invalid_event(body: bytes) -> None:
    text = body.decode("utf-8", "replace").encode()

    with pytest.raises(WebhookInvalid):
        verify_webhook(text, signed(text), SECRET, NOW)


def test_it_rejects_like_the_library() -> None:
    now = datetime.now(UTC).timestamp()
    for each in (signed(BODY, OTHER, at=now), signed(at=now - 400), signed(at=now + 400)):
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(BODY, each)
        with pytest.raises(WebhookInvalid):
            verify_webhook(BODY, each, SECRET)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_ä"])
def test_it_rejects_an_invalid_secret(secret: str) -> None:
    with pytest.raises(ValueError, match=r"[Ss]ecret|ASCII"):
        verify_webhook(BODY, signed(), secret, NOW)


def test_it_handles_unknown_types() -> None:
    body = json.dumps({**EVENT, "type": "group.dreamt", "requestId": None}).encode()

    event = verify_webhook(body, signed(body), SECRET, NOW)

    assert (event.type, event.type.is_known, event.request_id) == ("group.dreamt", False, None)
    assert isinstance(event.data, dict)
    assert event.data["metadata"] == {"el-text-1": "x", "yes": True}


def test_it_handles_data_of_each_type() -> None:
    data = {"templateId": ID, "url": "https://hooks.estate.example/", "reason": "Gone."}
    body = json.dumps({**EVENT, "type": "webhook.disabled", "data": data}).encode()

    event = verify_webhook(body, signed(body), SECRET, NOW)

    assert isinstance(event.data, WebhookDisabled)
    assert event.data.reason == "Gone."
