"""Who calls, and whether the permissions of that caller reach this operation."""

from chamberlain.api.services import Services
from chamberlain.rules.callers import Caller
from chamberlain.rules.permissions import Operation, require


async def authenticate(authorization: bytes | None, operation: Operation, services: Services) -> Caller:
    """The caller behind an Authorization header, or Unauthenticated or Forbidden."""
    caller = await services.verify(None if authorization is None else authorization.decode("latin-1"))
    require(caller, operation, services.prefixes)
    return caller
