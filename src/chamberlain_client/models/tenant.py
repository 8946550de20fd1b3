"""The tenant."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain_client.models.model import Model, Versioned
from chamberlain_client.models.open_enums import OpenStrEnum


class Applicability(OpenStrEnum):
    """What becomes of a property that a mailbox of the type does not have."""

    REFUSE = "refuse"
    WARN = "warn"


class Treatment(OpenStrEnum):
    """How a property is treated that differs in the directory: put right, reported, or not looked at."""

    MANAGED = "managed"
    OBSERVED = "observed"
    IGNORED = "ignored"


class Administrators(Model, frozen=True, kw_only=True):
    """These users, and the members of these groups."""

    users: tuple[UUID, ...] = ()
    groups: tuple[UUID, ...] = ()


class Repair(Model, frozen=True, kw_only=True):
    """What the service puts right by itself. `properties` says how single ones are treated that differ in the
    directory, such as `{"group.displayName": "ignored"}`; the others are treated as its table of defaults says."""

    drift: bool = False
    properties: Mapping[str, Treatment] = {}


class Limits(Model, frozen=True, kw_only=True):
    """What the tenant may have at most; None is without limit."""

    open_requests: int | None = None
    running_jobs: int | None = None
    requests_per_minute: int | None = None


class Issuer(Model, frozen=True, kw_only=True):
    """Whose tokens speak for the tenant."""

    issuer: str
    tid: str | None = None
    audiences: Mapping[str, str] = {}


class TenantSettings(Model, frozen=True, kw_only=True):
    """What administrators say of their tenant. What is `UNSET` is not sent."""

    name: str
    administrators: Administrators
    default_domain: str | UnsetType | None = UNSET
    repair: Repair | UnsetType | None = UNSET
    applicability: Applicability | UnsetType | None = UNSET


class Tenant(Versioned, frozen=True, kw_only=True):
    """The tenant: what its administrators say, and what is the operator's."""

    id: UUID
    name: str
    default_domain: str
    administrators: Administrators
    repair: Repair
    applicability: Applicability
    domains: tuple[str, ...]
    extension_prefix: str
    limits: Limits
    issuers: tuple[Issuer, ...]
    created_at: datetime
    updated_at: datetime
