"""Receiving calls of webhooks: whether one is to be believed (Standard Webhooks 1.0), and what it tells."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

from chamberlain_client.errors import AnswerNotUnderstood, WebhookInvalid
from chamberlain_client.events import event_of
from chamberlain_client.models.events import Event

# Standard Webhooks leaves it to the receiver, and its own libraries take five minutes.
TOLERANCE = 300.0
_PREFIX = "whsec_"


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, now: float | None = None) -> Event:
    """The event that a call tells, when one of its signatures is good and it was made within five minutes of `now`
    (seconds since 1970; the clock of this machine by default). `body` are the bytes as they came, before anything has
    read them. The same event may come again: `id` tells. Raises WebhookInvalid for what is not to be believed, and
    ValueError for a secret that is none."""
    key = _key_of(secret)
    sent = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp = sent.get("webhook-id", ""), sent.get("webhook-timestamp", "")
    _look_at_time(timestamp, time.time() if now is None else now)
    good = _signature(key, event_id, timestamp, body)
    if not _is_among(good, sent.get("webhook-signature", "")):
        raise WebhookInvalid("No signature of the call is one of this secret.")
    try:
        return event_of(body, event_id)
    except AnswerNotUnderstood as error:
        raise WebhookInvalid("The call is signed well and is no event.") from error


def _look_at_time(timestamp: str, now: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookInvalid("The call does not say when it was made.")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise WebhookInvalid("The call was not made within five minutes of now. Is the clock right?")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX) + "==", validate=False)
    except binascii.Error as error:
        raise ValueError("The secret is none: it is whsec_ with base64 behind it.") from error
    if not key:
        raise ValueError("The secret is empty.")
    return key


def _signature(key: bytes, event_id: str, timestamp: str, body: bytes) -> bytes:
    if not event_id:
        raise WebhookInvalid("The call has no id.")
    signed = f"{event_id}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    return hmac.digest(key, signed, hashlib.sha256)


def _is_among(good: bytes, signatures: str) -> bool:
    """Whether one of them is good. All are compared, each in a time that tells nothing."""
    found = False
    for each in signatures.split():
        version, _, value = each.partition(",")
        if version == "v1":
            found |= hmac.compare_digest(good, _decoded(value))
    return found


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""
