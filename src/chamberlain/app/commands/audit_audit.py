"""The audit trail, for whoever has the database: verified."""

import asyncio
from datetime import UTC

import typer

from chamberlain.app.commands.audit_audit_by_hand import verify_audit
from chamberlain.audit.seals import AuditFault, AuditVerdict, Head, head_of
from chamberlain.cli.errors import failed, told_faults
from chamberlain.core.ids import TenantId
from chamberlain.settings import Settings


def verify(settings: Settings, tenant_id: TenantId | None, written_head: str | None) -> None:
    """Print each fault and a line for each tenant; any fault ends the command with 1."""
    kept = None if written_head is None else _head(written_head, tenant_id)
    with told_faults():
        verdicts = asyncio.run(verify_audit(settings, tenant_id, kept, _tell))
    for verdict in verdicts:
        print(_line(verdict))
    if not verdicts:
        print("There is no tenant.")
    if any(verdict.faults for verdict in verdicts):
        raise typer.Exit(1)


def _head(written: str, tenant_id: TenantId | None) -> Head:
    head = head_of(written)
    if head is None:
        raise failed(f"{written} is no head. The log has them as POSITION:sha256: and 64 hexadecimal digits.")
    if tenant_id is None:
        raise failed("A head belongs to the chain of one tenant: name its --tenant.")
    return head


def _tell(tenant_id: TenantId, fault: AuditFault) -> None:
    print(f"{fault.kind:8}  {tenant_id}  {fault.detail}")


def _line(verdict: AuditVerdict) -> str:
    state = "well" if not verdict.faults else "1 fault" if verdict.faults == 1 else f"{verdict.faults} faults"
    rows = f"{verdict.head.position} rows sealed, {verdict.erased} erased, {verdict.waiting} to be sealed"
    if verdict.waiting_since is not None:
        rows += f" since {verdict.waiting_since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{state:8}  {verdict.tenant_id}  {rows}, head {verdict.head}"
