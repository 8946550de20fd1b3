# SPDX-License-Identifier: Apache-2.0
"""Calls before they are sent: method, path, headers and body. Pure."""

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType

from chamberlain_client.errors import NotAnId
from chamberlain_client.operations import Operation, Server
from chamberlain_client.wire import Model, Versioned

Id = UUID | str
# A model of the SDK, or the JSON object itself.
Body = Model | Mapping[str, object]
QueryValue = str | int | bool | UUID | datetime | None

# Seconds of RFC 7240 `Prefer: wait`; the service caps them at the same value.
LONGEST_WAIT = 30.0


class Call(Struct, frozen=True, kw_only=True):
    """One call.

    `is_repeatable` says whether a retry after it was sent is safe and has the same answer. `waits` is the number of
    seconds that the service may delay its answer, in addition to the timeout.
    """

    method: str
    server: Server
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    is_repeatable: bool = True
    waits: float = 0.0


def build_get(
    operation: Operation, *ids: Id, query: Mapping[str, QueryValue] | None = None, accept: str = "application/json"
) -> Call:
    """Build a GET. It omits query values of None."""
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ids),
        query=tuple((name, _encode_query(value)) for name, value in (query or {}).items() if value is not None),
        headers=(("accept", accept),),
    )


def build_post(
    operation: Operation,
    *ids: Id,
    body: Body,
    key: str | None,
    dry_run: bool = False,
    wait: float | None = None,
    force: bool = False,
) -> Call:
    """Build a POST with an idempotency key for safe retries.

    A key of None generates one.
    """
    headers = [("accept", "application/json"), ("content-type", "application/json")]
    # The service stores no key for a dry run.
    if not dry_run:
        headers.append(("idempotency-key", validate_header(secrets.token_hex(16) if key is None else key)))
    seconds = 0.0 if wait is None else max(0.0, min(wait, LONGEST_WAIT))
    if seconds >= 1:
        headers.append(("prefer", f"wait={int(seconds)}"))
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ids),
        query=_flags(dryRun=dry_run, force=force),
        headers=tuple(headers),
        content=encode_body(body),
        waits=seconds,
    )


def build_document_post(
    operation: Operation, *, document: Body | str, query: Mapping[str, QueryValue], key: str | None
) -> Call:
    """Build a POST of a document.

    A text is YAML, anything else a JSON object. A key of None generates one.
    """
    is_yaml = isinstance(document, str)
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ()),
        query=tuple((name, _encode_query(value)) for name, value in query.items() if value is not None),
        headers=(
            ("accept", "application/json"),
            ("content-type", "application/yaml" if is_yaml else "application/json"),
            ("idempotency-key", validate_header(secrets.token_hex(16) if key is None else key)),
        ),
        content=document.encode() if isinstance(document, str) else encode_body(document),
    )


def build_change(
    operation: Operation,
    *ids: Id,
    body: Body | None = None,
    if_match: str | None = None,
    dry_run: bool = False,
    force: bool = False,
) -> Call:
    """Build a PUT, PATCH or DELETE.

    With `if_match` it is not repeatable: after a success, the retry would be refused as stale. A DELETE is not either:
    its retry would be answered with 404.
    """
    headers = [("accept", "application/json")]
    if body is not None:
        headers.append(("content-type", "application/json"))
    if if_match is not None:
        headers.append(("if-match", validate_header(if_match)))
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ids),
        query=_flags(dryRun=dry_run, force=force),
        headers=tuple(headers),
        content=None if body is None else encode_body(body),
        is_repeatable=dry_run or (if_match is None and operation.method != "DELETE"),
    )


def _flags(**flags: bool) -> tuple[tuple[str, str], ...]:
    return tuple((name, "true") for name, is_set in flags.items() if is_set)


def validate_header(value: str) -> str:
    """Validate a header value of the caller. Raises ValueError."""
    if not re.fullmatch(r"[!-~]{1,255}", value):
        raise ValueError("An idempotency key, ETag or number of an event is 1 to 255 visible ASCII characters.")
    return value


def parse_id(given: Id) -> UUID:
    """Parse an id; nothing else may become part of a path.

    Raises NotAnId.
    """
    try:
        return given if isinstance(given, UUID) else UUID(given)
    except (ValueError, AttributeError, TypeError) as error:
        raise NotAnId(given) from error


def encode_ids(given: Mapping[str, Id | UnsetType | None]) -> dict[str, UUID]:
    """Encode ids of a body, without those that are UNSET.

    None becomes the all-zero id, which clears an assignment.
    """
    return {
        name: UUID(int=0) if value is None else parse_id(value)
        for name, value in given.items()
        if not isinstance(value, UnsetType)
    }


def format_time(time: datetime) -> str:
    """Format a time for the API.

    Raises ValueError if it has no time zone.
    """
    if time.utcoffset() is None:
        raise ValueError(f"{time.isoformat()} says no zone: give it one, such as datetime.UTC.")
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def comment_body(comment: str | UnsetType) -> Body:
    """Build the body of a call that takes an optional comment."""
    return {} if isinstance(comment, UnsetType) else {"comment": comment}


def encode_body(body: Body) -> bytes:
    """Encode a body; the `etag` of a resource is not sent."""
    return msgspec.json.encode(msgspec.structs.replace(body, etag=UNSET) if isinstance(body, Versioned) else body)


def _path(operation: Operation, ids: tuple[Id, ...]) -> str:
    found = iter(ids)
    return re.sub(r"{\w+}", lambda _: str(parse_id(next(found))), operation.path)


def _encode_query(value: str | int | UUID | datetime) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Enum():
            return str(value.value)
        case datetime():
            return format_time(value)
        case _:
            return str(value)
