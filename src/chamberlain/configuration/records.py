# SPDX-License-Identifier: Apache-2.0
"""Read the configuration of tenants, and lock it.

Runs in the worker's role, which sees every tenant.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
from msgspec import UNSET

from chamberlain.configuration.assignments import KnownSubject, subject_names
from chamberlain.configuration.files import TenantEntry
from chamberlain.configuration.rules import Configured, InUse
from chamberlain.connections import records as connection_records
from chamberlain.core.errors import Conflict
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.models import to_assignment
from chamberlain.guests.policies import records as policy_records
from chamberlain.queries import load_queries
from chamberlain.templates import records as template_records
from chamberlain.tenants import records as tenant_records

if TYPE_CHECKING:
    from chamberlain.auth.models import Issuer
    from chamberlain.guests.policies.models import StoredPolicy
    from chamberlain.templates.models import StoredTemplate

SQL = load_queries(__name__)


async def find(tx: Transaction, tenant_ids: Collection[TenantId] | None = None) -> Mapping[TenantId, Configured]:
    """Find tenants with their issuers, templates, policies and connection, the oldest first.

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
    connections = await connection_records.find_of(tx, ids)
    return {
        each.id: Configured(
            each, tuple(issuers[each.id]), tuple(of_tenant[each.id]), tuple(rules[each.id]), connections.get(each.id)
        )
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
        assigned=await find_assigned(tx, ids),
    )


async def find_assigned(tx: Transaction, tenant_ids: Collection[TenantId]) -> Mapping[tuple[TenantId, UUID], int]:
    """Count the groups and sites of each assigned template and policy."""
    found = await tx.fetch(SQL["assigned"], list(tenant_ids))
    return {(TenantId(row["tenant_id"]), UUID(str(row["id"]))): row["subjects"] for row in found}


async def find_managing(tx: Transaction, entries: Collection[TenantEntry]) -> AbstractSet[TenantId]:
    """Find the tenants with managed objects.

    Only those whose connection is in the files are checked.
    """
    ids = [TenantId(each.tenant.id) for each in entries if each.connection is not UNSET]
    return {id_ for id_ in ids if await connection_records.manages(tx, id_)}


async def find_named(tx: Transaction, entries: Sequence[TenantEntry]) -> Sequence[KnownSubject]:
    """Find the groups and sites that assignments name."""
    found: list[KnownSubject] = []
    for entry in entries:
        if entry.assignments:
            names = subject_names(entry)
            columns = (list(names.ids), list(names.name_keys), list(names.addresses))
            found.extend(map(_subject, await tx.fetch(SQL["subjects"], entry.tenant.id, *columns)))
    return found


async def find_assigned_subjects(tx: Transaction, tenant_ids: Collection[TenantId]) -> Sequence[KnownSubject]:
    """Find all groups and sites with an assignment, by name."""
    return [_subject(row) for row in await tx.fetch(SQL["assigned_subjects"], list(tenant_ids))]


def _subject(row: Record) -> KnownSubject:
    return KnownSubject(
        tenant_id=TenantId(row["tenant_id"]),
        id=GroupId(row["subject_id"]),
        type=SubjectType(row["type"]),
        display_name=row["display_name"],
        addresses=tuple(row[each] for each in ("mail", "site_url") if row[each] is not None),
        assignment=to_assignment(row["template_id"], row["policy_id"]),
    )


# Timeouts of the locks. The first is less than the driver's timeout of a statement. A call waits less than a command.
PATIENCE = timedelta(seconds=20)
PATIENCE_OF_CALL = timedelta(seconds=5)


# Changes over HTTP and assignments wait, so that the plan stays valid.
# Changes of a connection lock it before its tenant.
LOCK_ROWS = (
    "SELECT FROM chamberlain.connection WHERE tenant_id = ANY ($1) ORDER BY tenant_id FOR UPDATE",
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
    """Lock the configuration of the installation until the end of the transaction.

    `tenant_ids` are those that change. Raises Conflict after a timeout.
    """
    with _waiting():
        await tx.execute(SQL["wait"], _milliseconds(patience))
        await tx.execute(SQL["lock"])
        await _lock_rows(tx, tenant_ids)


async def hold_own(tx: Transaction, tenant_id: TenantId, *, patience: timedelta = PATIENCE_OF_CALL) -> None:
    """Lock the configuration of one tenant until the end of the transaction.

    Other tenants do not wait, because its domains and issuers stay. Raises Conflict after a timeout.
    """
    with _waiting():
        await tx.execute(SQL["wait"], _milliseconds(patience))
        await _lock_rows(tx, [tenant_id])


async def _lock_rows(tx: Transaction, tenant_ids: Collection[TenantId]) -> None:
    for tenant_id in sorted(tenant_ids):
        await template_records.lock(tx, tenant_id)
    for statement in LOCK_ROWS:
        await tx.execute(statement, list(tenant_ids))
    await tx.execute(SQL["wait"], "0")


@contextmanager
def _waiting() -> Iterator[None]:
    try:
        yield
    except asyncpg.LockNotAvailableError as error:
        detail = "Another process is applying configuration files. Nothing was changed; try again when they are done."
        raise Conflict("stateDoesNotAllow", detail) from error


def _milliseconds(patience: timedelta) -> str:
    return str(round(patience.total_seconds() * 1000))
