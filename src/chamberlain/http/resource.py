# SPDX-License-Identifier: Apache-2.0
"""Versioned resources: If-Match, ETag, and responses."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.models import Edit
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.http.endpoint_tables import Success
from chamberlain.http.request import Call, HttpContext, Parameter
from chamberlain.http.responses import NO_STORE, Answer, Headers

IF_MATCH = Parameter(
    "If-Match",
    {"type": "string", "examples": ['"3"']},
    "The `ETag` of the version to change. If the current version is another one, the response is 412.",
)


def seen_versions(headers: Sequence[tuple[bytes, bytes]]) -> frozenset[str] | None:
    """Return the ETags of If-Match (RFC 9110, 13.1.1).

    None means that any version matches. Several lines are one list, whose empty members are ignored (RFC 9110, 5.3).
    """
    lines = [value.decode("latin-1") for name, value in headers if name == b"if-match"]
    tags = frozenset(tag.strip() for line in lines for tag in line.split(",")) - {""}
    return None if not lines or tags == {"*"} else tags


CACHE: Mapping[str, str] = {"Cache-Control": "Always `no-store`."}
VERSIONED: Mapping[str, str] = {**CACHE, "ETag": "The version, for `If-Match`."}
ADDED = (
    "Read-only properties (`id`, `createdAt`, `createdBy`, `updatedAt`, and `hasSecret` and `disabledReason` of a "
    "webhook) are ignored, so you can change a document that you have read and send it back."
)
SIGNING = (
    "A `webhook` without `secret` keeps its secret. If it has none, the service generates one and shows it in this "
    "response only."
)


def edit_of(call: Call[object]) -> Edit:
    """Return the edit of a call: versions, trace id and address."""
    return Edit(seen_versions(call.listed_headers), call.trace_id, call.client_address)


def listed(body: bytes) -> Answer:
    """Return the response with a page."""
    return Answer(200, body, (NO_STORE,))


def shown(body: bytes, etag: str) -> Answer:
    """Return the response with a resource and its version."""
    return Answer(200, body, (NO_STORE, (b"etag", etag.encode("ascii"))))


def made(http: HttpContext, path: str, answer: KeptAnswer) -> Answer:
    """Return the response to a creation; `path` is that of the list."""
    resource_id = json.decode(answer.body, type=_Identified).id
    location = f"{http.addresses.base_url}{path}{resource_id}/"
    return Answer(201, answer.body, (NO_STORE, (b"location", location.encode("ascii")), *_replayed(answer)))


def acted(answer: KeptAnswer) -> Answer:
    """Return the response to an action, performed now or replayed."""
    return Answer(200, answer.body, (NO_STORE, *_replayed(answer)))


def _replayed(answer: KeptAnswer) -> Headers:
    return ((b"idempotency-replayed", b"true"),) if answer.replayed else ()


def removed() -> Answer:
    """Return the response to a deletion."""
    return Answer(204, b"")


def making(
    content: type[Struct] | tuple[type[Struct], ...],
    example: Mapping[str, object],
    links: Mapping[str, Mapping[str, object]],
) -> Success:
    """Describe the response to a creation.

    `links` are in the format of OpenAPI.
    """
    headers = {
        **CACHE,
        "Location": "The address of the resource.",
        "Idempotency-Replayed": "`true` if an earlier call with this key created it; this is its response.",
    }
    return Success(201, "The resource was created.", content, headers, example, links)


def link_to(operation_id: str, parameter: str, description: str) -> Mapping[str, object]:
    """Describe the link from a created resource to its read operation."""
    return {
        "operationId": operation_id,
        "parameters": {parameter: "$response.body#/id"},
        "description": description,
    }


class _Identified(Struct):
    id: UUID
