"""Who holds an address that somebody wants, as far as that one may know."""

from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import NotFound, Unavailable
from chamberlain.rules.permissions import Operation, ScopePrefixes, require
from chamberlain.rules.requests import RequestRecord
from chamberlain.store.callers import Callers


async def told_holder(
    callers: Callers, prefixes: ScopePrefixes, caller: Caller, record: RequestRecord | None
) -> str | None:
    """The id of what the request that holds it has made, or of itself before that; None where there is no such request
    or the caller may not read it. No transaction may be open: the directory may be asked who administers."""
    try:
        held = await callers.require_visible(caller, require(caller, Operation.READ_REQUESTS, prefixes), record)
    except (NotFound, Unavailable):
        # An administrator is told less for a while; that the address is taken is true all the same.
        return None
    return str(held.request_id if held.result is None else held.result.id)
