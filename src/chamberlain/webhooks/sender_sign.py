"""Signing a call as Standard Webhooks 1.0 says, so that any library of it can verify what we send."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime

_SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with, and none itself.


def signed_headers(message_id: str, at: datetime, payload: bytes, secrets: Iterable[str]) -> Mapping[str, str]:
    """The three headers of a call: one signature for each secret (`whsec_` and base64), in their order."""
    seconds = str(int(at.timestamp()))
    content = f"{message_id}.{seconds}.".encode() + payload
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{_signature(secret, content)}" for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(_SECRET_PREFIX))
    return b64encode(hmac.digest(key, content, "sha256")).decode("ascii")
