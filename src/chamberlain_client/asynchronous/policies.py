"""Guest policies are administered."""

from collections.abc import Mapping, Sequence

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, items_of, versioned
from chamberlain_client.asynchronous.pages import AsyncPages
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id, changing, id_of, posting, reading
from chamberlain_client.models.policies import NewPolicy, Policy
from chamberlain_client.models.simulations import SimulatedPolicy

Written = NewPolicy | Policy | Mapping[str, object]


class AsyncPolicies:
    """Rules over time for guests."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[Policy]:
        """All of them, active or not, newest first. `limit` is how many a page has."""
        query = {"limit": limit, "cursor": cursor}
        return AsyncPages(self._transport, operations.LIST_POLICIES, items_of(Policy), query=query)

    async def create(self, policy: Written, *, idempotency_key: str | None = None) -> Policy:
        """Make one. Raises NotPossible."""
        call = posting(operations.CREATE_POLICY, body=policy, key=idempotency_key)
        return _read(await self._transport.send(call))

    async def get(self, policy_id: Id) -> Policy:
        """One of them, with its `etag`. Raises NotFound."""
        return _read(await self._transport.send(reading(operations.READ_POLICY, policy_id)))

    async def replace(self, policy_id: Id, policy: Written, *, if_match: str | None = None) -> Policy:
        """Let one be as is said, as a whole: what was read may be changed and given back. Raises NotFound, NotPossible,
        and Stale when it is not the version of `if_match` any more."""
        call = changing(operations.REPLACE_POLICY, policy_id, body=policy, if_match=if_match)
        return _read(await self._transport.send(call))

    async def delete(self, policy_id: Id, *, if_match: str | None = None) -> None:
        """Remove one. Raises NotFound, Stale, and Conflict when it is in use."""
        await self._transport.send(changing(operations.DELETE_POLICY, policy_id, if_match=if_match))

    async def simulate(
        self, policy_id: Id, *, group_ids: Sequence[Id] | None = None, site_ids: Sequence[Id] | None = None
    ) -> SimulatedPolicy:
        """What one would do from now on, to these groups and sites or to all, without doing it. Raises NotFound, and
        NotPossible for groups that there are not."""
        chosen = {"groupIds": group_ids, "siteIds": site_ids}
        body = {name: [id_of(each) for each in ids] for name, ids in chosen.items() if ids is not None}
        call = posting(operations.SIMULATE_POLICY, policy_id, body=body, key=None)
        return decoded(await self._transport.send(call), SimulatedPolicy)


def _read(answer: Answer) -> Policy:
    return versioned(decoded(answer, Policy), answer)
