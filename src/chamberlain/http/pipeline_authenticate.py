"""Who calls, and whether the permissions of that caller reach this operation."""

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, require
from chamberlain.http.context import HttpContext


async def authenticate(authorization: bytes | None, operation: Operation, http: HttpContext) -> Caller:
    """The caller behind an Authorization header, or Unauthenticated or Forbidden."""
    caller = await http.verify(None if authorization is None else authorization.decode("latin-1"))
    require(caller, operation, http.prefixes)
    return caller
