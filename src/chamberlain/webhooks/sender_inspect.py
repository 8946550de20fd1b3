"""Whether a webhook's address could be called, for the operator: nothing is called, and the reason is told."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from chamberlain.webhooks.addresses import Network, is_allowed, is_disguised
from chamberlain.webhooks.models_webhook_targets import Reach
from chamberlain.webhooks.sender_connect import Resolve

# A name server that has not answered by then does not answer.
PATIENCE = timedelta(seconds=5)


async def reach_of(url: str, resolve: Resolve, *, allowed: Sequence[Network], allow_http: bool) -> Reach:
    """What would keep a call from being made, by the same rules that calls go by."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii").lower()
        port = parts.port or 0
    except ValueError:
        return Reach.NO_NAME
    if parts.scheme != "https" and not (parts.scheme == "http" and allow_http):
        return Reach.NOT_HTTPS
    if is_disguised(host):
        return Reach.REFUSED
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            addresses = await resolve(host, port)
    except (OSError, TimeoutError):
        return Reach.NO_NAME
    if not addresses:
        return Reach.NO_NAME
    return Reach.YES if all(is_allowed(address, allowed) for address in addresses) else Reach.REFUSED
