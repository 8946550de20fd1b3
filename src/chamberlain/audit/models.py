# SPDX-License-Identifier: Apache-2.0
"""Rows of the audit trail, with their seals."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Subject
from chamberlain.core.ids import ClientId, RequestId, TenantId, TraceId


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Filter of rows; None matches all.

    `since` is inclusive, `until` exclusive.
    """

    subject_id: UUID | None = None
    actor_id: UUID | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditClient:
    """The client program of a change; the name may be empty."""

    id: ClientId
    display_name: str


@dataclass(frozen=True, slots=True)
class AuditSeal:
    """The digest that seals a row, and the previous digest."""

    previous: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the audit trail.

    `before` and `after` are JSON. In an erased row, actor, client, client address, subject, `before` and `after` are
    None.
    """

    sequence: int
    at: datetime
    tenant_id: TenantId
    action: str
    actor: Actor | None
    client: AuditClient | None
    subject: Subject | None
    before: bytes | None
    after: bytes | None
    request_id: RequestId | None
    trace_id: TraceId
    client_address: str | None
    seal: AuditSeal | None
    is_erased: bool


# Rows in the order of their sequence, in batches.
AuditRows = AsyncGenerator[Sequence[AuditRecord], None]


def named(record: AuditRecord, names: Mapping[ClientId, str]) -> AuditRecord:
    """Add the names of client programs, which the identity platform has."""
    client, actor = record.client, record.actor
    if client is not None:
        client = replace(client, display_name=names.get(client.id, ""))
    if actor is not None and actor.type is ActorType.APPLICATION and not actor.display_name:
        actor = replace(actor, display_name=names.get(ClientId(str(actor.id)), ""))
    return replace(record, client=client, actor=actor)
