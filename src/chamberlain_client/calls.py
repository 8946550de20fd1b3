"""Calls before they are sent: where they go, what they carry, and whether they may be sent a second time.

Pure: nothing is sent here.
"""

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType

from chamberlain_client.errors import NotAnId
from chamberlain_client.models.model import Model, Versioned
from chamberlain_client.operations import Operation, Server

Id = UUID | str
# What a body may be: a model of ours, or the JSON object itself.
Body = Model | Mapping[str, object]
QueryValue = str | int | bool | UUID | datetime | None

# RFC 7240: as long as the service lets anybody wait.
LONGEST_WAIT = 30.0


class Call(Struct, frozen=True, kw_only=True):
    """One call. `is_repeatable`: to send it again after it was sent does no harm and tells no untruth.

    `waits` is how many seconds the service may take on purpose, beside the time that any answer takes.
    """

    method: str
    server: Server
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    is_repeatable: bool = True
    waits: float = 0.0


def reading(
    operation: Operation, *ids: Id, query: Mapping[str, QueryValue] | None = None, accept: str = "application/json"
) -> Call:
    """A call that changes nothing. A query value of None is left out."""
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ids),
        query=tuple((name, _written(value)) for name, value in (query or {}).items() if value is not None),
        headers=(("accept", accept),),
    )


def posting(
    operation: Operation, *ids: Id, body: Body, key: str | None, dry_run: bool = False, wait: float | None = None
) -> Call:
    """A POST. It has a key of its own, or the one that is given, and so may be sent again."""
    headers = [("accept", "application/json"), ("content-type", "application/json")]
    # A rehearsal keeps no key.
    if not dry_run:
        headers.append(("idempotency-key", sendable(new_key() if key is None else key)))
    seconds = 0.0 if wait is None else max(0.0, min(wait, LONGEST_WAIT))
    if seconds >= 1:
        headers.append(("prefer", f"wait={int(seconds)}"))
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ids),
        query=(("dryRun", "true"),) if dry_run else (),
        headers=tuple(headers),
        content=encoded(body),
        waits=seconds,
    )


def changing(operation: Operation, *ids: Id, body: Body | None = None, if_match: str | None = None) -> Call:
    """A PUT, PATCH or DELETE. With `if_match` it may not be sent again once it was sent: the second one would be
    answered as if somebody else had been faster; nor may a DELETE, whose second answer is that there is nothing."""
    headers = [("accept", "application/json")]
    if body is not None:
        headers.append(("content-type", "application/json"))
    if if_match is not None:
        headers.append(("if-match", sendable(if_match)))
    return Call(
        method=operation.method,
        server=operation.server,
        path=_path(operation, ids),
        headers=tuple(headers),
        content=None if body is None else encoded(body),
        is_repeatable=if_match is None and operation.method != "DELETE",
    )


def new_key() -> str:
    """An idempotency key that nobody has used."""
    return secrets.token_hex(16)


def sendable(value: str) -> str:
    """A value of the caller's, for a header. Raises ValueError for one that no header takes."""
    if not re.fullmatch(r"[!-~]{1,255}", value):
        raise ValueError("An idempotency key, ETag or number of an event is 1 to 255 visible ASCII characters.")
    return value


def id_of(given: Id) -> UUID:
    """The id that is meant; nothing else may become a part of an address. Raises NotAnId."""
    try:
        return given if isinstance(given, UUID) else UUID(given)
    except (ValueError, AttributeError, TypeError) as error:
        raise NotAnId(given) from error


def ids_of(given: Mapping[str, Id | UnsetType | None]) -> dict[str, UUID]:
    """Those of these ids that were given. None clears what is assigned, for which the wire has an id of its own."""
    return {
        name: UUID(int=0) if value is None else id_of(value)
        for name, value in given.items()
        if not isinstance(value, UnsetType)
    }


def written_time(time: datetime) -> str:
    """A time as the API reads it. Raises ValueError for one that does not say in which zone it is."""
    if time.utcoffset() is None:
        raise ValueError(f"{time.isoformat()} says no zone: give it one, such as datetime.UTC.")
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def said(comment: str | UnsetType) -> Body:
    """The body of a call whose body is a comment, or nothing."""
    return {} if isinstance(comment, UnsetType) else {"comment": comment}


def encoded(body: Body) -> bytes:
    """A body as it is sent. What was read may be sent back: the version that it was read as is no part of it."""
    return msgspec.json.encode(msgspec.structs.replace(body, etag=UNSET) if isinstance(body, Versioned) else body)


def _path(operation: Operation, ids: tuple[Id, ...]) -> str:
    found = iter(ids)
    return re.sub(r"{\w+}", lambda _: str(id_of(next(found))), operation.path)


def _written(value: str | int | UUID | datetime) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Enum():
            return str(value.value)
        case datetime():
            return written_time(value)
        case _:
            return str(value)
