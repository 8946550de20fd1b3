"""Forgetting a user, for whoever has the database."""

import asyncio
import sys
from uuid import UUID

from chamberlain.app.commands.audit_audit_by_hand import erase_user
from chamberlain.audit.erasure import Erasure
from chamberlain.cli.errors import failed, told_faults
from chamberlain.core.ids import WRITTEN_ID, TenantId, UserId
from chamberlain.settings import Settings


def erase(settings: Settings, written_user: str, tenant_id: TenantId | None, *, yes: bool) -> None:
    """Empty what is kept of a user, and say what that was."""
    if not WRITTEN_ID.fullmatch(written_user):
        raise failed(f"{written_user} is no id of a user. The directory shows it; it is a UUID.")
    user_id = UserId(UUID(written_user))
    if not yes:
        _ask(user_id, tenant_id)
    with told_faults():
        erasures = asyncio.run(erase_user(settings, user_id, tenant_id))
    for erasure in erasures:
        print(_line(erasure))
        if erasure.bodies_left:
            print(
                f"{erasure.bodies_left} requests have not ended, and their bodies are needed. Cancel them or wait, and "
                "run this again."
            )
    if not erasures:
        print(f"Nothing is kept of user {user_id}.")


def _ask(user_id: UserId, tenant_id: TenantId | None) -> None:
    where = "all tenants" if tenant_id is None else f"tenant {tenant_id}"
    print(f"What is kept of user {user_id} in {where} will be emptied for good.")
    print("yes, to go on: ", end="", flush=True)
    if sys.stdin.readline().strip() != "yes":
        print()
        raise failed("Nothing was erased.")


def _line(erasure: Erasure) -> str:
    return (
        f"Tenant {erasure.tenant_id}: {erasure.audit_rows} rows of the audit trail and {erasure.bodies} bodies of "
        f"requests were emptied; the name was taken out of {erasure.requests} requests, {erasure.mailboxes} mailboxes, "
        f"{erasure.events} events and {erasure.others} other places."
    )
