# Made by `python3 dev.py twin` from asynchronous/managed_groups.py, which is the one to be changed.
"""Groups are listed and read, and guest templates and policies are assigned to them."""

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, items_of, versioned
from chamberlain_client.calls import Id, changing, ids_of, reading
from chamberlain_client.models.managed import ManagedGroup
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class ManagedGroups:
    """Every group of the directory but the security groups of managed sites."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        assigned: bool | None = None,
        template_id: Id | None = None,
        policy_id: Id | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[ManagedGroup]:
        """Groups by display name; those whose name begins with `q`. `limit` is how many a page has."""
        query = {"assigned": assigned, "templateId": template_id, "policyId": policy_id, "q": q}
        paging = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_MANAGED_GROUPS, items_of(ManagedGroup), query={**query, **paging})

    def get(self, group_id: Id) -> ManagedGroup:
        """One group, with the `etag` of what is assigned. Raises NotFound."""
        return _read(self._transport.send(reading(operations.READ_MANAGED_GROUP, group_id)))

    def assign(
        self,
        group_id: Id,
        *,
        template_id: Id | UnsetType | None = UNSET,
        policy_id: Id | UnsetType | None = UNSET,
        if_match: str | None = None,
    ) -> ManagedGroup:
        """Assign a guest template, a guest policy, or both. None clears what is assigned, and what is not given stays.
        The effects follow, as the request `assignment_request_id`. Raises NotFound, NotPossible, and Stale when
        something else than with `if_match` is assigned by now."""
        body = ids_of({"templateId": template_id, "policyId": policy_id})
        call = changing(operations.ASSIGN_TO_GROUP, group_id, body=body, if_match=if_match)
        return _read(self._transport.send(call))


def _read(answer: Answer) -> ManagedGroup:
    return versioned(decoded(answer, ManagedGroup), answer)
