"""Guest policies."""

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain_client.models.actors import Actor
from chamberlain_client.models.model import Model, Versioned
from chamberlain_client.models.open_enums import OpenStrEnum


class PolicyAction(OpenStrEnum):
    """What is done when the time is over."""

    NOTIFY = "notify"
    DISABLE = "disable"
    REMOVE = "remove"


class Confirmers(OpenStrEnum):
    """Who confirms guests."""

    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


class Expiry(Model, frozen=True, kw_only=True):
    """How long a guest stays."""

    after_days: int
    action: PolicyAction
    reminder_days: tuple[int, ...] = ()


class Review(Model, frozen=True, kw_only=True):
    """How often guests are confirmed, and how long there is for an answer."""

    every_days: int
    answer_days: int
    confirmed_by: Confirmers
    action: PolicyAction
    reminder_days: tuple[int, ...] = ()


class Inactivity(Model, frozen=True, kw_only=True):
    """How long a guest may do nothing."""

    after_days: int
    action: PolicyAction
    reminder_days: tuple[int, ...] = ()


class MinimumOwners(Model, frozen=True, kw_only=True):
    """How many owners there have to be."""

    count: int
    action: PolicyAction = PolicyAction.NOTIFY
    reminder_days: tuple[int, ...] = ()


class NewPolicy(Model, frozen=True, kw_only=True):
    """A policy to be made, or what one is to be. A rule that is `UNSET` or None does not apply."""

    name: str
    description: str | UnsetType | None = UNSET
    active: bool | UnsetType | None = UNSET
    expiry: Expiry | UnsetType | None = UNSET
    review: Review | UnsetType | None = UNSET
    inactivity: Inactivity | UnsetType | None = UNSET
    minimum_owners: MinimumOwners | UnsetType | None = UNSET


class Policy(Versioned, frozen=True, kw_only=True):
    """A guest policy."""

    id: UUID
    name: str
    description: str
    active: bool
    expiry: Expiry | None
    review: Review | None
    inactivity: Inactivity | None
    minimum_owners: MinimumOwners | None
    created_at: datetime
    created_by: Actor
    updated_at: datetime
