"""Deliveries of webhooks."""

from datetime import datetime
from uuid import UUID

from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum


class DeliveryState(OpenStrEnum):
    """What has become of a delivery."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Attempt(Model, frozen=True, kw_only=True):
    """One call of a webhook: the status and the beginning of what came back, or the error."""

    number: int
    at: datetime
    status: int | None
    duration_ms: int
    error: str | None
    answer: str | None


class Delivery(Model, frozen=True, kw_only=True):
    """What a webhook is told of one event, with its newest attempts."""

    id: UUID
    event_id: UUID
    type: str
    request_id: UUID | None
    template_id: UUID
    url: str
    state: DeliveryState
    next_attempt_at: datetime | None
    attempts: tuple[Attempt, ...]
    created_at: datetime


class Redelivered(Model, frozen=True):
    """How many deliveries are queued again."""

    count: int
