# SPDX-License-Identifier: Apache-2.0
"""Events of requests, and the summary of a request in them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from chamberlain.auth.models import Actor
from chamberlain.changes.models import LONGEST_DETAIL, Document, Event, EventType, actor_document, shorten, shorten_name
from chamberlain.core.ids import EventId, RequestId, TenantId
from chamberlain.directory.models import NamedPerson
from chamberlain.requests.models import RequestError, RequestKind, RequestRecord, RequestState, StepRecord

# An event names at most this many approvers. The request has all of them.
MOST_APPROVERS = 50
# Bytes of JSON that the approvers of an event take at most.
_ALL_APPROVERS = 12_000


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """The part of a request that its events show."""

    request_id: RequestId
    tenant_id: TenantId
    kind: RequestKind
    state: RequestState
    display_name: str
    error: RequestError | None
    created_by: Actor


def with_shortfalls(event: Event, steps: Iterable[StepRecord]) -> Event:
    """Add the parts that the steps left undone, if there are any."""
    shortfalls = [
        {
            "step": str(step.step),
            "code": reason.code,
            "detail": shorten(reason.sentence, LONGEST_DETAIL),
            "values": {name: list(each) if isinstance(each, tuple) else each for name, each in reason.values.items()},
        }
        for step in steps
        if (reason := step.shortfall) is not None and reason.values is not None
    ]
    return replace(event, data={**event.data, "shortfalls": shortfalls}) if shortfalls else event


def approval_required(
    event_id: EventId, request: RequestSummary, *, level: int, approvers: Iterable[NamedPerson], now: datetime
) -> Event:
    """A level of approval is open.

    The approvers may decide. There are none if the request is blocked.
    """
    more: Document = {"level": level, "approvers": _approver_documents(approvers)}
    return request_event(event_id, EventType.REQUEST_APPROVAL_REQUIRED, request, now=now, more=more)


def request_failed(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """A request has failed."""
    return request_event(event_id, EventType.REQUEST_FAILED, request, now=now, more={})


def request_rejected(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """An approver has rejected a request."""
    return request_event(event_id, EventType.REQUEST_REJECTED, request, now=now, more={})


def request_expired(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """A request was not decided in time."""
    return request_event(event_id, EventType.REQUEST_EXPIRED, request, now=now, more={})


def request_cancelled(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """A request was cancelled."""
    return request_event(event_id, EventType.REQUEST_CANCELLED, request, now=now, more={})


def request_accepted(event_id: EventId, request: RequestSummary, *, now: datetime) -> Event:
    """A request was accepted.

    The database writes this event for tenants with a reader (database/sql/requests.sql).
    """
    return request_event(event_id, EventType.REQUEST_ACCEPTED, request, now=now, more={})


def request_approved(event_id: EventId, request: RequestSummary, *, changed_by: Actor, now: datetime) -> Event:
    """All levels of a request are approved."""
    more: Document = {"changedBy": actor_document(changed_by)}
    return request_event(event_id, EventType.REQUEST_APPROVED, request, now=now, more=more)


def request_retried(event_id: EventId, request: RequestSummary, *, changed_by: Actor, now: datetime) -> Event:
    """A failed request is queued again."""
    more: Document = {"changedBy": actor_document(changed_by)}
    return request_event(event_id, EventType.REQUEST_RETRIED, request, now=now, more=more)


def summary_of(record: RequestRecord) -> RequestSummary:
    """Summarize a request for its events."""
    return RequestSummary(
        request_id=record.request_id,
        tenant_id=record.tenant_id,
        kind=record.kind,
        state=record.state,
        display_name=record.display_name,
        error=record.error,
        created_by=record.created_by,
    )


def request_event(
    event_id: EventId, event_type: EventType, request: RequestSummary, *, now: datetime, more: Document
) -> Event:
    """Build an event of a request. `more` is added to its data."""
    return Event(
        id=event_id,
        type=event_type,
        timestamp=now,
        tenant_id=request.tenant_id,
        request_id=request.request_id,
        data={
            "request": {
                "requestId": str(request.request_id),
                "kind": str(request.kind),
                "displayName": shorten_name(request.display_name),
                "state": str(request.state),
                "error": None if request.error is None else error_document(request.error),
            },
            **more,
            "createdBy": actor_document(request.created_by),
        },
    )


def error_document(error: RequestError) -> Document:
    """Encode the error of a request."""
    return {"step": str(error.step), "code": error.code, "detail": shorten(error.detail, LONGEST_DETAIL)}


def _approver_documents(approvers: Iterable[NamedPerson]) -> list[Document]:
    """Encode as many approvers as fit into an event."""
    documents: list[Document] = []
    room = _ALL_APPROVERS
    for person in islice(approvers, MOST_APPROVERS):
        document = {"id": str(person.id), "displayName": shorten_name(person.display_name)}
        room -= len(json.dumps(document, ensure_ascii=False).encode())
        if room < 0:
            break
        documents.append(document)
    return documents
