"""The tenant is read and changed."""

from collections.abc import Mapping

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, versioned
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import changing, reading
from chamberlain_client.models.tenant import Tenant, TenantSettings


class AsyncOwnTenant:
    """The caller's tenant, for those who administer it."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def get(self) -> Tenant:
        """The tenant, with its `etag`."""
        return _read(await self._transport.send(reading(operations.READ_TENANT)))

    async def replace(
        self, tenant: TenantSettings | Tenant | Mapping[str, object], *, if_match: str | None = None
    ) -> Tenant:
        """Let it be as is said; what is the operator's may be sent and is ignored. Raises NotPossible, and Stale when
        it is not the version of `if_match` any more."""
        call = changing(operations.REPLACE_TENANT, body=tenant, if_match=if_match)
        return _read(await self._transport.send(call))


def _read(answer: Answer) -> Tenant:
    return versioned(decoded(answer, Tenant), answer)
