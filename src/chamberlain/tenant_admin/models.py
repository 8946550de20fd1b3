"""Tenants that were deleted: what is kept of them, so that somebody can tell what became of one."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.audit.seals import Head
from chamberlain.core.ids import TenantId


@dataclass(frozen=True, slots=True)
class DeletedTenant:
    """Which it was, who has deleted it when, and the last head of its audit trail, which proves an export of it."""

    id: TenantId
    name: str
    deleted_at: datetime
    deleted_by: str
    head: Head


@dataclass(frozen=True, slots=True)
class TenantRow:
    """One row of a table of the tenant, as JSON."""

    table: str
    content: str


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """How many rows of the tenant a table had."""

    table: str
    count: int
