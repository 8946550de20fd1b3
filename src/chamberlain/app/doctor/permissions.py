# SPDX-License-Identifier: Apache-2.0
"""Permissions in Microsoft 365 for the templates and policies of a tenant."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import typer

from chamberlain.app.doctor.database import Opened, opened_to_look
from chamberlain.cli.errors import ExitCode
from chamberlain.cli.formats import Output
from chamberlain.cli.output import Column, Record, say
from chamberlain.connections import records as connection_records
from chamberlain.connections.models import Adapter
from chamberlain.core.ids import TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.directory.microsoft365.permissions import required
from chamberlain.guests.policies import records as policy_records
from chamberlain.permissions.models import NeederKind
from chamberlain.permissions.service import features_of_policy, features_of_template
from chamberlain.settings import Settings
from chamberlain.templates import records as template_records

_COLUMNS: Final = tuple(Column(name.upper(), name) for name in ("tenantId", "type", "name", "permission"))


def print_permissions(settings: Settings, output: Output) -> None:
    """Print one line for each permission of a template or policy.

    Exits 1 without the database.
    """
    found = asyncio.run(_find(settings))
    if found is None:
        say("The database cannot be read. Run `chamberlain doctor`.")
        raise typer.Exit(ExitCode.FAILED)
    output.show_records(found, _COLUMNS, "connections to Microsoft 365")


async def _find(settings: Settings) -> Sequence[Record] | None:
    async with opened_to_look(settings) as opened:
        return await permissions_in_use(opened)


async def permissions_in_use(opened: Opened) -> Sequence[Record] | None:
    """List the permissions of all tenants with Microsoft 365.

    None without the database.
    """
    if opened.worker is None:
        return None
    async with opened.worker.across_tenants() as tx:
        targets = await connection_records.find_targets(tx)
        connections = [each.connection for each in targets if each.connection.adapter is Adapter.MICROSOFT365]
        return [record for each in connections for record in await _of_tenant(tx, each.tenant_id)]


async def _of_tenant(tx: Transaction, tenant_id: TenantId) -> Sequence[Record]:
    """List those of a tenant.

    Inactive templates and policies count: they remain in force where they are assigned.
    """
    rows: list[Record] = list(_rows(tenant_id, "people", "", required([])))
    for template in await template_records.find_of(tx, [tenant_id]):
        needer, features = features_of_template(template)
        rows += _rows(tenant_id, str(template.head.kind), needer.name, required(features))
    for policy in await policy_records.find_all(tx, [tenant_id]):
        needer, features = features_of_policy(policy)
        rows += _rows(tenant_id, str(NeederKind.POLICY), needer.name, required(features))
    return rows


def _rows(tenant_id: TenantId, type_: str, name: str, permissions: Iterable[str]) -> Iterator[Record]:
    for permission in permissions:
        yield {"tenantId": str(tenant_id), "type": type_, "name": name, "permission": permission}
