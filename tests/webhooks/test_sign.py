# SPDX-License-Identifier: Apache-2.0
"""Signatures: those of the reference library, for every secret that there is."""

from base64 import b64encode
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from chamberlain.webhooks.sender import signed_headers

OLD, NEW = (f"whsec_{b64encode(bytes([each] * 32)).decode()}" for each in (1, 2))
PAYLOAD = '{"type":"group.created","data":{"displayName":"Zürich"}}'.encode()


def test_it_works_as_the_reference_library() -> None:
    headers = signed_headers("e7e00000", datetime.now(UTC), PAYLOAD, [NEW])

    assert Webhook(NEW).verify(PAYLOAD, dict(headers))["type"] == "group.created"
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    assert Webhook(NEW).sign("e7e00000", at, PAYLOAD.decode()) == headers["webhook-signature"]


def test_it_signs_with_both_secrets_while_they_rotate() -> None:
    headers = dict(signed_headers("e7e00000", datetime.now(UTC), PAYLOAD, [NEW, OLD]))

    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (NEW, OLD):
        Webhook(secret).verify(PAYLOAD, headers)


@pytest.mark.parametrize("change", ["body", "webhook-id", "webhook-timestamp", "secret"])
def test_the_library_refuses_what_was_tampered_with(change: str) -> None:
    headers = dict(signed_headers("e7e00000", datetime.now(UTC), PAYLOAD, [NEW]))
    if change in headers:
        headers[change] = {"webhook-id": "other"}.get(change, str(int(headers["webhook-timestamp"]) - 1))
    body = PAYLOAD.replace(b"group", b"croup") if change == "body" else PAYLOAD

    with pytest.raises(WebhookVerificationError):
        Webhook(OLD if change == "secret" else NEW).verify(body, headers)
