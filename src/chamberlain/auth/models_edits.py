"""Edits: how somebody changes a thing that is administered."""

from dataclasses import dataclass

from chamberlain.auth.models import Actor
from chamberlain.core.errors import Stale
from chamberlain.core.ids import ClientId, TraceId


@dataclass(frozen=True, slots=True)
class Edit:
    """How a change of something that is there comes in; `if_match` are the versions that the caller has seen, None
    when any will do, and `client_address` is the caller's."""

    if_match: frozenset[str] | None
    trace_id: TraceId
    client_address: str | None = None


@dataclass(frozen=True, slots=True)
class Editor:
    """Who changes something, by which client, on which trace, from which address; None for a change that does not come
    over HTTP."""

    actor: Actor
    client_id: ClientId | None
    trace_id: TraceId
    client_address: str | None


def require_match(etag: str, edit: Edit, noun: str) -> None:
    """Raises Stale when the caller has seen another version of the thing than the one that there is."""
    if edit.if_match is not None and etag not in edit.if_match:
        detail = f"The {noun} has changed since you read it. Read it again, and send your change for that version."
        raise Stale("etagStale", detail)
