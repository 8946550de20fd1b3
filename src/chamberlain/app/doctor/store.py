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
from chamberlain.webhooks.models import WebhookTarget

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


# Others' sessions show no more than the database that they are in; the server's own processes are in none.
SERVER: Final = """
SELECT current_setting('server_version_num')::integer AS version, clock_timestamp() AS now,
    (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL)::integer AS used,
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
    - coalesce(current_setting('reserved_connections', true), '0')::integer AS most
"""

ROLE: Final = """
SELECT r.rolname AS name, r.rolsuper AS is_superuser, r.rolbypassrls AS passes_row_security,
    ARRAY(
        SELECT o.rolname FROM pg_roles o
        WHERE o.rolname = ANY ($1) AND pg_has_role(r.oid, o.oid, 'USAGE') ORDER BY o.rolname
    )::text[] AS acts_as,
    EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('chamberlain', 'directory', 'identity') AND pg_has_role(r.oid, c.relowner, 'USAGE')
    ) AS owns_tables,
    EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'chamberlain' AND c.relname = 'audit'
        AND (has_table_privilege(r.oid, c.oid, 'DELETE') OR has_any_column_privilege(r.oid, c.oid, 'UPDATE'))
    ) AS changes_audit
FROM pg_roles r WHERE r.rolname = current_user
"""

# Deleted tenants have no tenant any more, and only workers may read their table.
OPEN_TABLES: Final = """
SELECT n.nspname || '.' || c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE n.nspname IN ('chamberlain', 'directory', 'identity') AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity
AND has_table_privilege($1, c.oid, 'SELECT')
ORDER BY 1
"""

# An encrypted secret starts with the length of the key id and the key id (keyring.py).
SEALING_KEYS: Final = """
SELECT DISTINCT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id FROM (
    SELECT s.sealed FROM chamberlain.webhook_secret s
    UNION ALL SELECT s.previous_secret FROM chamberlain.webhook_secret s WHERE s.previous_secret IS NOT NULL
) secrets (sealed) WHERE length(sealed) > 1 ORDER BY 1
"""

OVERLAPS: Final = "SELECT previous_until FROM chamberlain.webhook_secret WHERE previous_until IS NOT NULL ORDER BY 1"

WEBHOOKS: Final = """
SELECT t.tenant_id, t.template_id, chamberlain.clean(r.content) ->> 'name' AS name,
    chamberlain.clean(r.content) #>> '{webhook,url}' AS url,
    chamberlain.clean(r.content) #>> '{webhook,active}' = 'true' AS active,
    s.failing_since, s.disabled_at, s.disabled_reason
FROM chamberlain.template t
JOIN chamberlain.template_revision r
    ON r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
LEFT JOIN chamberlain.webhook_state s ON s.tenant_id = t.tenant_id AND s.template_id = t.template_id
WHERE chamberlain.clean(r.content) #>> '{webhook,url}' IS NOT NULL ORDER BY t.tenant_id, name, t.template_id
"""

# The service writes an escape for control characters only, and those beyond ASCII as they are.
BAD_TEXTS: Final = """
SELECT 'template' AS noun, t.tenant_id, t.template_id AS id FROM chamberlain.template t
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE strpos(r.content::text, '\\u') > 0 OR r.content::text ~ '[\\x7f-\\x9f]'
UNION ALL
SELECT 'policy', p.tenant_id, p.policy_id FROM chamberlain.policy p
WHERE strpos(p.content::text, '\\u') > 0 OR p.content::text ~ '[\\x7f-\\x9f]'
ORDER BY 2, 1, 3
"""


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
    (row,) = await tx.fetch(ROLE, [APPLICATION, WORKER])
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
    return [row["name"] for row in await tx.fetch(OPEN_TABLES, APPLICATION)]


async def sealing_keys(tx: Transaction) -> frozenset[str]:
    """The ids of the keys that secrets of ours are sealed with."""
    return frozenset(row["key_id"] for row in await tx.fetch(SEALING_KEYS))


async def overlaps(tx: Transaction) -> Sequence[datetime]:
    """Return the ends of all periods in which webhooks have two secrets."""
    return [row["previous_until"] for row in await tx.fetch(OVERLAPS)]


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
        for row in await tx.fetch(WEBHOOKS)
    ]


@dataclass(frozen=True, slots=True)
class BadText:
    """A template or policy with such a text."""

    noun: str
    tenant_id: TenantId
    id: UUID


async def bad_texts(tx: Transaction) -> Sequence[BadText]:
    """Find templates and policies that an earlier version stored with control characters."""
    return [BadText(row["noun"], TenantId(row["tenant_id"]), row["id"]) for row in await tx.fetch(BAD_TEXTS)]
