"""What is administered, such as templates: how a change of one comes in, and how one is answered, with its version."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.models import Edit
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.http.calls import NO_STORE, Answer, Headers
from chamberlain.http.context import Call, HttpContext
from chamberlain.http.router import Parameter, Success

IF_MATCH = Parameter(
    "If-Match",
    {"type": "string", "examples": ['"3"']},
    "The `ETag` of the version that is to be changed; when there is another one by now, the answer is 412.",
)


def seen_versions(headers: Sequence[tuple[bytes, bytes]]) -> frozenset[str] | None:
    """The versions that the caller has seen; None when any will do (RFC 9110, 13.1.1). Several lines are one list
    (RFC 9110, 5.3), whose empty members say nothing."""
    lines = [value.decode("latin-1") for name, value in headers if name == b"if-match"]
    tags = frozenset(tag.strip() for line in lines for tag in line.split(",")) - {""}
    return None if not lines or tags == {"*"} else tags


CACHE: Mapping[str, str] = {"Cache-Control": "Always `no-store`."}
VERSIONED: Mapping[str, str] = {**CACHE, "ETag": "Names this version, for `If-Match`."}
ADDED = (
    "What the service adds (`id`, `createdAt`, `createdBy`, `updatedAt`, and `hasSecret` and `disabledReason` of a "
    "webhook) may be sent, so that what was read can be changed and put back, and is ignored."
)
SIGNING = (
    "A `webhook` without `secret` keeps the one that it has; where it has none, one is made, and shown in this answer "
    "and never again."
)


def edit_of(call: Call[object]) -> Edit:
    """How a change of something that is there comes in."""
    return Edit(seen_versions(call.listed_headers), call.trace_id, call.client_address)


def listed(body: bytes) -> Answer:
    """The answer with a page."""
    return Answer(200, body, (NO_STORE,))


def shown(body: bytes, etag: str) -> Answer:
    """The answer with the thing itself."""
    return Answer(200, body, (NO_STORE, (b"etag", etag.encode("ascii"))))


def made(http: HttpContext, path: str, answer: KeptAnswer) -> Answer:
    """The answer to who made something; `path` is that of its list."""
    thing_id = json.decode(answer.body, type=_Identified).id
    location = f"{http.addresses.base_url}{path}{thing_id}/"
    headers: Headers = (NO_STORE, (b"location", location.encode("ascii")))
    if answer.replayed:
        headers += ((b"idempotency-replayed", b"true"),)
    return Answer(201, answer.body, headers)


def removed() -> Answer:
    """The answer when it is gone."""
    return Answer(204, b"")


def making(
    content: type[Struct] | tuple[type[Struct], ...],
    example: Mapping[str, object],
    links: Mapping[str, Mapping[str, object]],
) -> Success:
    """The description of the answer to who made something; `links` are as the OpenAPI document has them."""
    headers = {
        **CACHE,
        "Location": "Where it is from now on.",
        "Idempotency-Replayed": "`true` when an earlier call with this key did it; this is its answer.",
    }
    return Success(201, "It is there.", content, headers, example, links)


def link_to(operation_id: str, parameter: str, description: str) -> Mapping[str, object]:
    """From what was made to the operation that reads it."""
    return {
        "operationId": operation_id,
        "parameters": {parameter: "$response.body#/id"},
        "description": description,
    }


class _Identified(Struct):
    id: UUID
