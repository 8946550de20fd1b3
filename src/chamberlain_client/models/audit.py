"""The audit trail: who did what."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from chamberlain_client.models.actors import Actor
from chamberlain_client.models.model import Model


class AuditProgram(Model, frozen=True):
    """The program by which something was done."""

    id: str
    display_name: str


class AuditSubject(Model, frozen=True):
    """What something was done to; `type` is a noun of the API."""

    type: str
    id: UUID | None
    display_name: str


class Seal(Model, frozen=True):
    """The digest that seals a row, and the one before it in the chain."""

    previous: str
    digest: str


class AuditRow(Model, frozen=True, kw_only=True):
    """Who did what. `before` and `after` hold what changed only; `client_address` is None for a change that did
    not come over HTTP; `seal` is None until the row is sealed; of a row that is `erased` nobody knows any more who did
    what to which thing."""

    sequence: int
    at: datetime
    tenant_id: UUID
    action: str
    actor: Actor | None
    client: AuditProgram | None
    subject: AuditSubject | None
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None
    request_id: UUID | None
    trace_id: str
    client_address: str | None = None
    seal: Seal | None
    erased: bool = False
