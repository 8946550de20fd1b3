"""Tenants: the organisations that everything belongs to."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from chamberlain.core.errors import LimitReached
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.properties import Treatments


class Applicability(StrEnum):
    """What is done with a property that a mailbox of its type does not have."""

    REFUSE = "refuse"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a tenant may have at most; None is no limit. Open is what waits for an approval or has not ended yet."""

    open_requests: int | None = None
    running_jobs: int | None = None
    requests_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Tenant:
    """An organisation, as it was at one revision. The first of `domains` is where addresses are made by default. With
    `repairs_drift` the service puts right by itself what was changed behind its back; `repair_properties` says how
    single properties are treated that differ. `former_prefixes` are earlier values of `extension_prefix`, the oldest
    first: what was marked under one still carries it."""

    id: TenantId
    revision: int
    name: str
    domains: tuple[str, ...]
    administrator_users: frozenset[UserId]
    administrator_groups: frozenset[GroupId]
    extension_prefix: str
    suspended: bool
    limits: Limits = Limits()
    applicability: Applicability = Applicability.REFUSE
    repairs_drift: bool = False
    repair_properties: Treatments = field(default_factory=dict)
    former_prefixes: tuple[str, ...] = ()

    @property
    def marked_under(self) -> tuple[str, ...]:
        """Former prefixes that differ from the current one, the newest first."""
        return tuple(dict.fromkeys(each for each in reversed(self.former_prefixes) if each != self.extension_prefix))

    @property
    def default_domain(self) -> str:
        """Where an address is made when nothing says otherwise."""
        return self.domains[0]


def limit_full(limit: str) -> LimitReached:
    """What to say when a tenant has as many as it may have of what this limit is for."""
    if limit == "requestsPerMinute":
        detail = "This tenant has asked for as much as it may in one minute. Send the request again after a minute."
        return LimitReached("quotaExceeded", detail, limit=limit, after=timedelta(minutes=1))
    detail = "This tenant has as many open requests as it may have. Send the request again when some have ended."
    return LimitReached("quotaExceeded", detail, limit=limit, after=timedelta(seconds=10))
