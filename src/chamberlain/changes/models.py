"""Changes: what the audit trail keeps of everything that somebody did."""

from collections.abc import Mapping
from uuid import UUID

from chamberlain.auth.models import Actor
from chamberlain.changes.models_events import Event
from chamberlain.core.ids import ClientId, RequestId, TenantId, TraceId
from chamberlain.core.values import Json, value


@value(frozen=True, slots=True)
class Subject:
    """What was changed: `type` is a noun of the API."""

    type: str
    id: UUID | None
    display_name: str


@value(frozen=True, slots=True)
class Change:
    """One change: who did what to which thing. `before` and `after` hold what changed and nothing else.

    `action` is noun and verb (`group.create`). An event that tells the change to others is written with it, or not at
    all. A change has the `client_address` of the call that made it; one that no call made has none.
    """

    tenant_id: TenantId
    action: str
    actor: Actor
    client_id: ClientId | None
    subject: Subject
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    request_id: RequestId | None
    trace_id: TraceId
    event: Event | None = None
    client_address: str | None = None
