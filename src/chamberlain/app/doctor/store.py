# SPDX-License-Identifier: Apache-2.0
"""Read the state of an installation, of all tenants. Nothing here writes."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.queries import load_queries
from chamberlain.webhooks.models import WebhookTarget

SQL = load_queries(__name__)

APPLICATION, WORKER = "chamberlain_application", "chamberlain_worker"


@dataclass(frozen=True, slots=True)
class RoleRights:
    """The rights of a signed-in role.

    `acts_as` are those of our two roles whose rights it has.
    """

    name: str
    acts_as: frozenset[str]
    is_superuser: bool
    passes_row_security: bool
    owns_tables: bool
    changes_audit: bool


def judge_role(role: str, rights: RoleRights) -> list[HealthCheck]:
    """A database role of the service, with its rights."""
    found = list(_application(rights) if role == APPLICATION else _worker(rights))
    return found or [healthy("roles", f"{rights.name} has the rights of {role} and no others.")]


def judge_row_security(open_tables: list[str]) -> HealthCheck:
    """Tables of tenants without row-level security."""
    if not open_tables:
        return healthy("row-level security", "It is on for every table that holds what belongs to a tenant.")
    seen = f"It is off for {', '.join(open_tables)}."
    return fault("row-level security", seen, "ALTER TABLE ... ENABLE ROW LEVEL SECURITY, as the owner of the tables.")


def _application(rights: RoleRights) -> Iterator[HealthCheck]:
    name = rights.name
    if APPLICATION not in rights.acts_as:
        yield fault("roles", f"{name} lacks the rights of {APPLICATION}.", f"GRANT {APPLICATION} TO {name}.")
    if rights.is_superuser or rights.passes_row_security or rights.owns_tables:
        yield fault(
            "roles",
            f"{name}, which answers calls, passes row-level security: superuser, BYPASSRLS, or owner.",
            f"Name a role in CHAMBERLAIN_DATABASE_URL that has the rights of {APPLICATION} and nothing else.",
        )
    elif WORKER in rights.acts_as:
        yield fault(
            "roles",
            f"{name}, which answers calls, has the rights of {WORKER} as well, and so sees every tenant.",
            f"REVOKE {WORKER} FROM {name}, or name another role in CHAMBERLAIN_DATABASE_URL.",
        )
    elif rights.changes_audit:
        yield fault(
            "roles",
            f"{name}, which answers calls, may change or remove rows of the audit trail.",
            f"REVOKE UPDATE, DELETE ON chamberlain.audit FROM {name}, as the owner of the tables.",
        )


def _worker(rights: RoleRights) -> Iterator[HealthCheck]:
    name = rights.name
    if WORKER not in rights.acts_as:
        yield fault("roles", f"{name} lacks the rights of {WORKER}.", f"GRANT {WORKER} TO {name}.")
    if rights.is_superuser or rights.owns_tables:
        yield warning(
            "roles",
            f"{name}, which workers sign in as, is a superuser or owns the tables.",
            f"Name a role in CHAMBERLAIN_DATABASE_WORKER_URL that has the rights of {WORKER} and nothing else.",
        )


SERVER: Final = SQL["server"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """The database server: its `server_version_num`, its clock, and its connections."""

    version: int
    now: datetime
    used_connections: int
    most_connections: int


class NotThere(Exception):
    """A table, a column or a right is missing in the database."""


@asynccontextmanager
async def looking(database: Database) -> AsyncIterator[Transaction]:
    """Open a transaction as the role. Raises Unavailable and NotThere."""
    with telling():
        async with database.across_tenants() as tx:
            await tx.execute("SET TRANSACTION READ ONLY")
            yield tx


@contextmanager
def telling() -> Iterator[None]:
    """Report missing tables and functions as NotThere."""
    try:
        yield
    except asyncpg.SyntaxOrAccessError as error:
        raise NotThere(str(error)) from error


async def server_state(tx: Transaction) -> ServerState:
    """How the server is."""
    (row,) = await tx.fetch(SERVER)
    return ServerState(row["version"], row["now"], row["used"], row["most"])


async def role_rights(tx: Transaction) -> RoleRights:
    """Read the rights of the current role."""
    (row,) = await tx.fetch(SQL["role"], [APPLICATION, WORKER])
    return RoleRights(
        name=row["name"],
        acts_as=frozenset(row["acts_as"]),
        is_superuser=row["is_superuser"],
        passes_row_security=row["passes_row_security"],
        owns_tables=row["owns_tables"],
        changes_audit=row["changes_audit"],
    )


async def open_tables(tx: Transaction) -> list[str]:
    """List tables that the API may read without row-level security."""
    return [row["name"] for row in await tx.fetch(SQL["open_tables"], APPLICATION)]


async def sealing_keys(tx: Transaction) -> frozenset[str]:
    """The ids of the keys that secrets of ours are sealed with."""
    return frozenset(row["key_id"] for row in await tx.fetch(SQL["sealing_keys"]))


async def overlaps(tx: Transaction) -> Sequence[datetime]:
    """Return the ends of all periods in which webhooks have two secrets."""
    return [row["previous_until"] for row in await tx.fetch(SQL["overlaps"])]


async def webhook_targets(tx: Transaction) -> Sequence[WebhookTarget]:
    """All webhooks of all tenants."""
    return [
        WebhookTarget(
            tenant_id=TenantId(row["tenant_id"]),
            template_id=TemplateId(row["template_id"]),
            template_name=row["name"],
            url=row["url"],
            active=row["active"],
            failing_since=row["failing_since"],
            disabled_reason=row["disabled_reason"],
        )
        for row in await tx.fetch(SQL["webhooks"])
    ]


@dataclass(frozen=True, slots=True)
class BadText:
    """A template or policy with such a text."""

    noun: str
    tenant_id: TenantId
    id: UUID


async def bad_texts(tx: Transaction) -> Sequence[BadText]:
    """Find templates and policies that an earlier version stored with control characters."""
    return [BadText(row["noun"], TenantId(row["tenant_id"]), row["id"]) for row in await tx.fetch(SQL["bad_texts"])]
