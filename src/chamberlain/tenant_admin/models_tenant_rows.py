"""What is kept of a tenant, row by row: what leaves with it, and what is removed."""

from dataclasses import dataclass


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
