"""Suspension: a tenant is not served for a while. Its tokens are refused, its jobs rest, and nothing of it goes."""

from chamberlain.auth.models_edits import Editor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TenantId
from chamberlain.tenants.models import Tenant


def suspended(tenant: Tenant, editor: Editor) -> Change:
    """The record of a tenant that is served no longer."""
    return _change(tenant, "suspend", editor, before=False)


def resumed(tenant: Tenant, editor: Editor) -> Change:
    """The record of a tenant that is served again."""
    return _change(tenant, "resume", editor, before=True)


def tenant_unknown(tenant_id: TenantId) -> NotFound:
    """What an operator is told who names a tenant that is not there."""
    return NotFound(f"There is no tenant {tenant_id}. `chamberlain tenant list` shows those that there are.")


def _change(tenant: Tenant, verb: str, editor: Editor, *, before: bool) -> Change:
    return Change(
        tenant_id=tenant.id,
        action=f"tenant.{verb}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject("tenant", tenant.id, tenant.name),
        before={"suspended": before},
        after={"suspended": not before},
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )
