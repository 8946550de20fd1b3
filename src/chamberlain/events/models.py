"""Events as they are read: in a feed, oldest first, that goes on for ever."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.core.ids import EventId, RequestId, TenantId


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event as it was written. `type` may be one that newer code beside us writes, hence a text; `data` is JSON."""

    id: EventId
    type: str
    timestamp: datetime
    request_id: RequestId | None
    tenant_id: TenantId
    data: bytes
