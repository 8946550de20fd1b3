"""Jobs that wait for a person."""

from datetime import datetime
from uuid import UUID

from chamberlain_client.models.model import Model


class Job(Model, frozen=True, kw_only=True):
    """A piece of work; `held_reason` is None once it was released. `trace_id` is in the log lines about it."""

    id: UUID
    tenant_id: UUID
    kind: str
    request_id: UUID | None
    held_reason: str | None
    attempts: int
    trace_id: str
    queued_at: datetime
