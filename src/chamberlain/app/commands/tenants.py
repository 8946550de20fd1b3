# SPDX-License-Identifier: Apache-2.0
"""Commands of tenants: list, suspend, resume, export and delete."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.errors import in_database
from chamberlain.cli.errors import failed
from chamberlain.cli.formats import Output
from chamberlain.cli.output import Column, written_time
from chamberlain.core.ids import WRITTEN_ID, TenantId
from chamberlain.database.transactions import Database
from chamberlain.observability.logs import new_trace_id
from chamberlain.settings import Settings
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenant_admin.store import RemovedRows, TenantRow
from chamberlain.tenants.models import Tenant


def tenant_id_of(settings: Settings, written: str, *, option: str | None = None) -> TenantId:
    """Find the id of a tenant. An unknown one ends the command."""
    if WRITTEN_ID.fullmatch(written):
        return TenantId(UUID(written))
    from chamberlain.cli.names import TENANTS, pick

    found = in_database(settings, lambda database: TenantOperations(database).list())
    records = [{"id": str(each.id), "name": each.name} for each in found]
    return TenantId(UUID(pick(records, written, TENANTS, option=option)))


_COLUMNS = (Column("ID", "id"), Column("STATE", "state"), Column("NAME", "name"), Column("DOMAINS", "domains"))
_DELETED = (
    Column("DELETED", "deletedAt"),
    Column("ID", "id"),
    Column("NAME", "name"),
    Column("BY", "deletedBy"),
    Column("HEAD", "head"),
)


def list_tenants(settings: Settings, output: Output) -> None:
    """Print all tenants, oldest first."""
    found = in_database(settings, lambda database: TenantOperations(database).list())
    rows = [
        {
            "id": str(each.id),
            "state": "suspended" if each.suspended else "served",
            "name": each.name,
            "domains": list(each.domains),
        }
        for each in found
    ]
    output.show_records(rows, _COLUMNS, "tenants")


def list_deleted_tenants(settings: Settings, output: Output) -> None:
    """Print deleted tenants with the last head of their audit trail."""
    found = in_database(settings, lambda database: TenantOperations(database).list_deleted())
    rows = [
        {
            "deletedAt": written_time(each.deleted_at),
            "id": str(each.id),
            "name": each.name,
            "deletedBy": each.deleted_by,
            "head": str(each.head),
        }
        for each in found
    ]
    output.show_records(rows, _DELETED, "deleted tenants")


def suspend_tenant(settings: Settings, tenant_id: TenantId) -> None:
    """Suspend a tenant, and print the result."""
    before = in_database(
        settings,
        lambda database: TenantOperations(database).suspend(tenant_id, actor=command_line(), trace_id=new_trace_id()),
    )
    if before.suspended:
        print(f"{before.name} is suspended already.")
    else:
        print(f"{before.name} is suspended: its tokens are refused within a minute, and its jobs rest.")


def resume_tenant(settings: Settings, tenant_id: TenantId) -> None:
    """Resume a tenant, and print the result."""
    before = in_database(
        settings,
        lambda database: TenantOperations(database).resume(tenant_id, actor=command_line(), trace_id=new_trace_id()),
    )
    print(f"{before.name} is served again." if before.suspended else f"{before.name} is not suspended.")


def export_tenant(settings: Settings, tenant_id: TenantId, file: Path | None) -> None:
    """Write or print all rows of a tenant."""
    if file is None:
        _export(settings, tenant_id, print)
        return
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        # The file holds personal data.
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                count = _export(settings, tenant_id, lambda line: stream.write(f"{line}\n"))
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise failed(f"{file} cannot be written ({error.strerror}).") from error
    print(f"{count} rows of tenant {tenant_id} are in {file}.")


def _export(settings: Settings, tenant_id: TenantId, write: Callable[[str], object]) -> int:
    def take(row: TenantRow) -> None:
        # Stored bodies can contain line breaks.
        content = msgspec.json.format(row.content, indent=-1)
        write(f'{{"table":{json.dumps(row.table)},"row":{content}}}')

    return in_database(
        settings,
        lambda database: TenantOperations(database).export(
            tenant_id, take, actor=command_line(), trace_id=new_trace_id()
        ),
    )


def delete_tenant(settings: Settings, tenant_id: TenantId, *, with_directory: bool) -> None:
    """Delete a suspended tenant permanently. Asks for its name."""
    found = in_database(settings, lambda database: TenantOperations(database).require_deletable(tenant_id))
    _require_name(found, _WITH_DIRECTORY if with_directory else _WITHOUT_DIRECTORY)

    def delete(database: Database) -> Awaitable[Sequence[RemovedRows]]:
        operations = TenantOperations(database)
        delete_rows = operations.delete_with_directory if with_directory else operations.delete
        return delete_rows(tenant_id, actor=command_line(), trace_id=new_trace_id())

    removed = in_database(settings, delete)
    for each in removed:
        print(f"{each.count:10}  {each.table}")
    rows = sum(each.count for each in removed)
    print(f"{found.name} ({found.id}) is gone: {rows} rows were removed from {len(removed)} tables.")
    print("`chamberlain tenant list --deleted` shows that it was there, and the last head of its audit trail.")


_WITH_DIRECTORY = "its objects in the embedded directory too"
_WITHOUT_DIRECTORY = "its objects in the directory stay"


def _require_name(tenant: Tenant, directory: str) -> None:
    print(f"Everything of {tenant.name} ({tenant.id}) will be removed for good, its audit trail too; {directory}.")
    print("Its name, to go on: ", end="", flush=True)
    if sys.stdin.readline().rstrip("\r\n") != tenant.name:
        print()
        raise failed("That is not its name. Nothing was removed.")
