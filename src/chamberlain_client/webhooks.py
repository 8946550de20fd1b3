# SPDX-License-Identifier: Apache-2.0
"""Verify webhooks (Standard Webhooks 1.0), and decode their events."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

from chamberlain_client.errors import AnswerNotUnderstood, WebhookInvalid
from chamberlain_client.events import Event, decode_event

# Seconds. Standard Webhooks leaves the value to the receiver; its own libraries use five minutes.
TOLERANCE = 300.0
_PREFIX = "whsec_"


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, now: float | None = None) -> Event:
    """Verify a call of a webhook, and return its event.

    One signature has to be valid, and the call at most five minutes away from `now` (seconds since 1970; the local
    clock by default). `body` are the raw bytes. An event may arrive again: deduplicate by `id`. Raises WebhookInvalid
    for an invalid call, and ValueError for an invalid secret.
    """
    key = _decode_secret(secret)
    received = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp = received.get("webhook-id", ""), received.get("webhook-timestamp", "")
    _validate_time(timestamp, time.time() if now is None else now)
    if not event_id:
        raise WebhookInvalid("The call has no id.")
    signed = f"{event_id}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    if not _is_signed(hmac.digest(key, signed, hashlib.sha256), received.get("webhook-signature", "")):
        raise WebhookInvalid("No signature of the call is one of this secret.")
    try:
        return decode_event(body, event_id)
    except AnswerNotUnderstood as error:
        raise WebhookInvalid("The call is signed well and is no event.") from error


def _decode_secret(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX) + "==", validate=False)
    except binascii.Error as error:
        raise ValueError("The secret is none: it is whsec_ with base64 behind it.") from error
    if not key:
        raise ValueError("The secret is empty.")
    return key


def _validate_time(timestamp: str, now: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookInvalid("The call does not say when it was made.")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise WebhookInvalid("The call was not made within five minutes of now. Is the clock right?")


def _is_signed(expected: bytes, signatures: str) -> bool:
    """Compare all signatures, each in constant time."""
    found = False
    for each in signatures.split():
        version, _, value = each.partition(",")
        if version == "v1":
            found |= hmac.compare_digest(expected, _decode_signature(value))
    return found


def _decode_signature(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""
