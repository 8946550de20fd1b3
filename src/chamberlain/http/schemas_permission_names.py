"""Which permissions would do for an operation, for those who read about it before they call."""

from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import ActorType, Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes, require
from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import ClientId, TenantId


def is_for_applications(operation: Operation) -> bool:
    """Whether an application may ever do this, whatever names permissions have here."""
    return permission_names(operation, ActorType.APPLICATION, ScopePrefixes("", "")) is not None


def permission_names(operation: Operation, type_: ActorType, prefixes: ScopePrefixes) -> tuple[str, ...] | None:
    """Absolute names of which one suffices, None where no permission does.

    Found out by asking as somebody without any: so the document says what a refusal would say.
    """
    nobody = Caller(
        TenantId(UUID(int=0)), type_, UUID(int=0), ClientId(""), frozenset(), datetime.max.replace(tzinfo=UTC)
    )
    try:
        require(nobody, operation, prefixes)
    except Forbidden as refusal:
        return refusal.sufficient if refusal.code == "insufficientScope" else None
    raise LookupError(f"{operation} needs no permission.")
