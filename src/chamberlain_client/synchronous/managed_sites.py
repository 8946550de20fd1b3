# Made by `python3 dev.py twin` from asynchronous/managed_sites.py, which is the one to be changed.
"""Managed sites are listed and read, and guest templates and policies are assigned to them."""

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, items_of, versioned
from chamberlain_client.calls import Id, changing, ids_of, reading
from chamberlain_client.models.managed import ManagedSite
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport


class ManagedSites:
    """Sites, each addressed by its security group."""

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
    ) -> Pages[ManagedSite]:
        """Sites by display name; those whose name begins with `q`. `limit` is how many a page has."""
        query = {"assigned": assigned, "templateId": template_id, "policyId": policy_id, "q": q}
        paging = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_MANAGED_SITES, items_of(ManagedSite), query={**query, **paging})

    def get(self, security_group_id: Id) -> ManagedSite:
        """One site, with the `etag` of what is assigned. Raises NotFound."""
        return _read(self._transport.send(reading(operations.READ_MANAGED_SITE, security_group_id)))

    def assign(
        self,
        security_group_id: Id,
        *,
        template_id: Id | UnsetType | None = UNSET,
        policy_id: Id | UnsetType | None = UNSET,
        if_match: str | None = None,
    ) -> ManagedSite:
        """Assign a guest template, a guest policy, or both. None clears what is assigned, and what is not given stays.
        The effects follow, as the request `assignment_request_id`. Raises NotFound, NotPossible, and Stale when
        something else than with `if_match` is assigned by now."""
        body = ids_of({"templateId": template_id, "policyId": policy_id})
        call = changing(operations.ASSIGN_TO_SITE, security_group_id, body=body, if_match=if_match)
        return _read(self._transport.send(call))


def _read(answer: Answer) -> ManagedSite:
    return versioned(decoded(answer, ManagedSite), answer)
