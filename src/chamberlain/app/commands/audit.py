# SPDX-License-Identifier: Apache-2.0
"""Commands of the audit trail.

`list` calls the API; `verify` and `erase` open the database.
"""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import typer

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.errors import in_database
from chamberlain.audit.erasure import Erasure, UserEraser
from chamberlain.audit.rules import AuditFault, AuditVerdict, Head, head_of
from chamberlain.audit.service import AuditVerifier
from chamberlain.cli.calls import Area, Call, show_list
from chamberlain.cli.errors import failed
from chamberlain.cli.names import SUBJECTS, id_of, user_id
from chamberlain.cli.output import Column, Record, on_behalf, value_at, written_time
from chamberlain.core.ids import WRITTEN_ID, TenantId, UserId
from chamberlain.observability.logs import new_trace_id
from chamberlain.settings import Settings
from chamberlain_client.operations import LIST_AUDIT

_COLUMNS: Final = (
    Column("AGE", "at"),
    Column("ACTION", "action"),
    Column("BY", "actor.displayName"),
    Column("SUBJECT", "subject.displayName"),
    Column("SUBJECT ID", "subject.id", wide=True),
    Column("SEQUENCE", "sequence", wide=True),
    Column("ADDRESS", "clientAddress", wide=True),
)


def list_audit(
    call: Call,
    *,
    subject: str | None,
    actor: str | None,
    action: str | None,
    first: datetime | None,
    before: datetime | None,
    most: int | None,
) -> None:
    """Print rows of the audit trail, newest first.

    `most` None means no limit.
    """
    with call.service(Area.ADMIN) as service:
        subject_id = subject and id_of(service, subject, SUBJECTS, option="--subject")
        actor_id = actor and user_id(service, actor, option="--actor")
    filters = {
        "subjectId": subject_id,
        "actorId": actor_id,
        "action": action,
        "from": first and written_time(first),
        "to": before and written_time(before),
    }
    show_list(
        call,
        Area.ADMIN,
        LIST_AUDIT,
        filters=filters,
        columns=_COLUMNS,
        most=most,
        noun="rows",
        for_people=_with_approver,
    )


def _with_approver(row: Record) -> Record:
    """Name the actor of a decision for an approver with both."""
    approver = value_at(row, "after.onBehalfOf.displayName")
    actor = row.get("actor")
    if approver is None or not isinstance(actor, Mapping):
        return row
    return {**row, "actor": {**actor, "displayName": on_behalf(actor.get("displayName"), approver)}}


def verify_audit(settings: Settings, tenant_id: TenantId | None, head: str | None) -> None:
    """Print the faults of the audit trail.

    Exits 1 if there are any.
    """
    kept = None if head is None else _head(head, tenant_id)
    verdicts = in_database(settings, lambda database: AuditVerifier(database, _report).verify(tenant_id, kept))
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


def _report(tenant_id: TenantId, fault: AuditFault) -> None:
    print(f"{fault.kind:8}  {tenant_id}  {fault.detail}")


def _line(verdict: AuditVerdict) -> str:
    state = "well" if not verdict.faults else "1 fault" if verdict.faults == 1 else f"{verdict.faults} faults"
    rows = f"{verdict.head.position} rows sealed, {verdict.erased} erased, {verdict.waiting} to be sealed"
    if verdict.waiting_since is not None:
        rows += f" since {verdict.waiting_since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{state:8}  {verdict.tenant_id}  {rows}, head {verdict.head}"


def erase(settings: Settings, written_user: str, tenant_id: TenantId | None, *, yes: bool) -> None:
    """Erase a user, and print the erased records."""
    if not WRITTEN_ID.fullmatch(written_user):
        raise failed(f"{written_user} is no id of a user. The directory shows it; it is a UUID.")
    user_id = UserId(UUID(written_user))
    if not yes:
        _ask(user_id, tenant_id)
    erasures = in_database(
        settings,
        lambda database: UserEraser(database).erase(user_id, tenant_id, actor=command_line(), trace_id=new_trace_id()),
    )
    for erasure in erasures:
        print(_erased_line(erasure))
        if erasure.bodies_left:
            print(
                f"{erasure.bodies_left} requests have not ended, and their bodies are needed. Cancel them or wait, and "
                "run this again."
            )
    if not erasures:
        print(f"Nothing is kept of user {user_id}.")


def _ask(user_id: UserId, tenant_id: TenantId | None) -> None:
    where = "all tenants" if tenant_id is None else f"tenant {tenant_id}"
    print(f"This erases the records of user {user_id} in {where} permanently.")
    print("yes, to go on: ", end="", flush=True)
    if sys.stdin.readline().strip() != "yes":
        print()
        raise failed("Nothing was erased.")


def _erased_line(erasure: Erasure) -> str:
    return (
        f"Tenant {erasure.tenant_id}: {erasure.audit_rows} rows of the audit trail and {erasure.bodies} bodies of "
        f"requests were emptied; the name was taken out of {erasure.requests} requests, {erasure.mailboxes} mailboxes, "
        f"{erasure.events} events and {erasure.others} other places."
    )
