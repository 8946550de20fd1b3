"""The audit trail as it is read: who did what to which thing by which program, and the seal on it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Subject
from chamberlain.core.ids import ClientId, RequestId, TenantId, TraceId


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows somebody wants to see; None is any. `since` counts, `until` does not."""

    subject_id: UUID | None = None
    actor_id: UUID | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditClient:
    """The program by which something was done; without a name where nobody knows one."""

    id: ClientId
    display_name: str


@dataclass(frozen=True, slots=True)
class AuditSeal:
    """The link that seals a row, and the digest of the link before."""

    previous: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the trail. `before` and `after` are JSON. Of a row whose payload was emptied, who, by which program,
    from which address, what and how are None."""

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


# All rows that somebody wants, in the order of their sequence, some at a time.
AuditRows = AsyncGenerator[Sequence[AuditRecord], None]


def named(record: AuditRecord, names: Mapping[ClientId, str]) -> AuditRecord:
    """The row with the names of programs, which are known to others than whoever wrote it."""
    client, actor = record.client, record.actor
    if client is not None:
        client = replace(client, display_name=names.get(client.id, ""))
    if actor is not None and actor.type is ActorType.APPLICATION and not actor.display_name:
        actor = replace(actor, display_name=names.get(ClientId(str(actor.id)), ""))
    return replace(record, client=client, actor=actor)
