"""Find the visible owner of a conflicting address."""

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import NotFound, Unavailable
from chamberlain.requests.models import RequestRecord
from chamberlain.requests.rules_visibility import require_visible


async def visible_owner(authorization: Authorization, caller: Caller, record: RequestRecord | None) -> str | None:
    """Return the id of the object that holds the address.

    Before the request has created the object, it is the id of the request. None if there is no such request or the
    caller may not read it. No transaction may be open: the directory may be asked for administrators.
    """
    try:
        held = await require_visible(authorization, caller, Operation.READ_REQUESTS, record)
    except (NotFound, Unavailable):
        # The conflict is reported without the id while the directory does not answer.
        return None
    return str(held.request_id if held.result is None else held.result.id)
