"""How a creating call came in: its body, its idempotency key with the digest of what was asked, and its trace."""

from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import urlencode

from msgspec import json

from chamberlain.api.calls import Call
from chamberlain.rules.requests import IdempotencyKey, Submission
from chamberlain.shapes.bodies import parse_object


def submission_of(call: Call[object]) -> Submission:
    """What the use case keeps of a call."""
    key = call.headers.get(b"idempotency-key")
    idempotency = None
    if key is not None:
        digest = digest_of(call.method, call.path, call.query, call.raw)
        idempotency = IdempotencyKey(key.decode("ascii"), digest)
    return Submission(call.raw, idempotency, call.trace_id)


def digest_of(method: str, path: str, query: Mapping[str, str], raw: bytes) -> bytes:
    """The same for all ways to write one request: order of members and parameters, white space, escapes, 2 and 2.0."""
    body = json.encode(parse_object(raw), order="sorted")
    head = f"{method}\n{path}\n{urlencode(sorted(query.items()))}\n"
    return sha256(head.encode("ascii") + body).digest()
