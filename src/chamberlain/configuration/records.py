"""Read the configuration of tenants, and lock it.

Runs in the worker's role, which sees every tenant.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from chamberlain.configuration.rules import Configured, InUse
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.guests.policies import records as policy_records
from chamberlain.templates import records as template_records
from chamberlain.tenants import records as tenant_records

if TYPE_CHECKING:
    from chamberlain.auth.models import Issuer
    from chamberlain.guests.policies.models import StoredPolicy
    from chamberlain.templates.models import StoredTemplate
from datetime import timedelta

import asyncpg

from chamberlain.core.errors import Conflict
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


async def find(tx: Transaction, tenant_ids: Collection[TenantId] | None = None) -> Mapping[TenantId, Configured]:
    """Find tenants with their issuers, templates and policies, the oldest first.

    Without ids it finds all.
    """
    found = await tenant_records.find_all(tx, tenant_ids)
    ids = [tenant.id for tenant in found]
    of_tenant: Mapping[TenantId, list[StoredTemplate]] = defaultdict(list)
    for template in await template_records.find_of(tx, ids):
        of_tenant[template.head.tenant_id].append(template)
    rules: Mapping[TenantId, list[StoredPolicy]] = defaultdict(list)
    for policy in await policy_records.find_all(tx, ids):
        rules[policy.head.tenant_id].append(policy)
    issuers: Mapping[TenantId, list[Issuer]] = defaultdict(list)
    for issuer in await tenant_records.issuers_of(tx, ids):
        issuers[issuer.tenant_id].append(issuer)
    return {
        each.id: Configured(each, tuple(issuers[each.id]), tuple(of_tenant[each.id]), tuple(rules[each.id]))
        for each in found
    }


async def find_in_use(
    tx: Transaction,
    tenant_ids: Collection[TenantId],
    domains: Sequence[str],
    issuers: Sequence[tuple[str, str | None]],
) -> InUse:
    """Find conflicts with other tenants, and assigned templates and policies."""
    ids = list(tenant_ids)
    return InUse(
        domains={
            row["domain"]: TenantId(row["tenant_id"]) for row in await tx.fetch(SQL["domains"], list(domains), ids)
        },
        issuers={(each.issuer, each.tid): each.tenant_id for each in await tenant_records.holders_of(tx, issuers)},
        assigned=frozenset(
            (TenantId(row["tenant_id"]), UUID(str(row["id"]))) for row in await tx.fetch(SQL["assigned"], ids)
        ),
    )


# Timeout of the locks. It is less than the driver's timeout of a statement.
PATIENCE = timedelta(seconds=20)


# Changes over HTTP and assignments wait, so that the plan stays valid.
LOCK_ROWS = (
    "SELECT FROM chamberlain.tenant WHERE tenant_id = ANY ($1) ORDER BY tenant_id FOR UPDATE",
    "SELECT FROM chamberlain.template WHERE tenant_id = ANY ($1) ORDER BY tenant_id, template_id FOR UPDATE",
    "SELECT FROM chamberlain.policy WHERE tenant_id = ANY ($1) ORDER BY tenant_id, policy_id FOR UPDATE",
)


async def look(tx: Transaction) -> None:
    """Read one snapshot until the end of the transaction.

    The transaction writes nothing. Has to be called first.
    """
    await tx.execute(SQL["snapshot"])


async def hold(tx: Transaction, tenant_ids: Collection[TenantId], *, patience: timedelta = PATIENCE) -> None:
    """Lock the configuration of tenants until the end of the transaction.

    Raises Conflict after a timeout.
    """
    try:
        await tx.execute(SQL["wait"], str(round(patience.total_seconds() * 1000)))
        await tx.execute(SQL["lock"])
        for tenant_id in sorted(tenant_ids):
            await template_records.lock(tx, tenant_id)
        for statement in LOCK_ROWS:
            await tx.execute(statement, list(tenant_ids))
        await tx.execute(SQL["wait"], "0")
    except asyncpg.LockNotAvailableError as error:
        detail = "Another process is applying configuration files. Nothing was changed; try again when they are done."
        raise Conflict("stateDoesNotAllow", detail) from error
