# Made by `python3 dev.py twin` from asynchronous/tenant.py, which is the one to be changed.
"""The tenant is read and changed."""

from collections.abc import Mapping

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, versioned
from chamberlain_client.calls import changing, reading
from chamberlain_client.models.tenant import Tenant, TenantSettings
from chamberlain_client.synchronous.transport import Transport


class OwnTenant:
    """The caller's tenant, for those who administer it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> Tenant:
        """The tenant, with its `etag`."""
        return _read(self._transport.send(reading(operations.READ_TENANT)))

    def replace(self, tenant: TenantSettings | Tenant | Mapping[str, object], *, if_match: str | None = None) -> Tenant:
        """Let it be as is said; what is the operator's may be sent and is ignored. Raises NotPossible, and Stale when
        it is not the version of `if_match` any more."""
        call = changing(operations.REPLACE_TENANT, body=tenant, if_match=if_match)
        return _read(self._transport.send(call))


def _read(answer: Answer) -> Tenant:
    return versioned(decoded(answer, Tenant), answer)
