# SPDX-License-Identifier: Apache-2.0
"""Decide which requests a caller may see, cancel and retry."""

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Extent, Operation
from chamberlain.core.errors import Forbidden, NotFound, Unavailable
from chamberlain.requests.approvals import (
    has_decided,
    has_to_decide,
)
from chamberlain.requests.models import RequestRecord


def concerns(record: RequestRecord, caller: Caller) -> bool:
    """Return whether the caller made the request or decides on it.

    A decision in the past counts.
    """
    user = caller.user_id
    is_own = record.created_by.id == caller.id
    return is_own or has_to_decide(record.approvals, user) or has_decided(record.approvals, user)


async def require_visible(
    authorization: Authorization, caller: Caller, operation: Operation, record: RequestRecord | None
) -> RequestRecord:
    """Return the request if the caller may see it.

    It concerns the caller, or the caller is an administrator.

    Raises NotFound, Forbidden and Unavailable.
    """
    allowance = authorization.allowance(caller, operation)
    if record is not None and allowance.plain is not None and concerns(record, caller):
        # Needs no answer of the directory.
        return record
    if await authorization.extent(caller, operation) is Extent.OWN or record is None:
        raise NotFound("There is no such request, or it is not yours to read.")
    return record


async def require_requester(
    authorization: Authorization, caller: Caller, operation: Operation, record: RequestRecord
) -> None:
    """Raise Forbidden if the caller is neither the requester nor an administrator.

    Raises Unavailable as well.
    """
    if record.created_by.id != caller.id and await authorization.extent(caller, operation) is not Extent.ALL:
        detail = "Only the requester and administrators cancel and retry. An approver approves and rejects."
        raise Forbidden("notAdministrator", detail)


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
