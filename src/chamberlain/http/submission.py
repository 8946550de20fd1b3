"""Read the submission or the action that a call carries."""

from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import urlencode

from msgspec import json

from chamberlain.core.fields import Description, Shape
from chamberlain.core.idempotency import Act, IdempotencyKey, KeptAnswer, Submission
from chamberlain.core.json import parse_with_whole_numbers
from chamberlain.core.validation import Reader
from chamberlain.http.calls import NO_STORE, Answer, Headers
from chamberlain.http.context import Call


class ActionBody(Shape, frozen=True, kw_only=True):
    """A comment, which is kept on the audit trail."""

    comment: Description | None = None


ACTION = Reader(ActionBody)


def submission_of(call: Call[object]) -> Submission:
    """Return the submission of a call that creates a request."""
    return Submission(call.raw, _idempotency_of(call), call.trace_id, call.client_address)


def act_of(call: Call[ActionBody]) -> Act:
    """Return the act of a call with an optional comment."""
    return Act(call.body.comment, _idempotency_of(call), call.trace_id, call.client_address)


def creating_act_of(call: Call[object]) -> Act:
    """Return the act of a call that creates a resource, which has no comment."""
    return Act(None, _idempotency_of(call), call.trace_id, call.client_address)


def acted(answer: KeptAnswer) -> Answer:
    """Return the response to an action, performed now or replayed."""
    headers: Headers = (NO_STORE,)
    if answer.replayed:
        headers += ((b"idempotency-replayed", b"true"),)
    return Answer(200, answer.body, headers)


def _idempotency_of(call: Call[object]) -> IdempotencyKey | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    return IdempotencyKey(key.decode("ascii"), digest_of(call.method, call.path, call.query, call.raw))


def digest_of(method: str, path: str, query: Mapping[str, str], raw: bytes) -> bytes:
    """Compute the digest of a request.

    It ignores the order of members and parameters, white space, escapes, and the difference between 2 and 2.0.
    """
    body = json.encode(parse_with_whole_numbers(raw), order="sorted")
    head = f"{method}\n{path}\n{urlencode(sorted(query.items()))}\n"
    return sha256(head.encode("ascii") + body).digest()
