# Made by `python3 dev.py twin` from asynchronous/managed.py, which is the one to be changed.
"""Groups and sites are listed and read, and guest templates and policies are assigned to them."""

from typing import Generic, TypeVar

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import Answer, decoded, items_of, versioned
from chamberlain_client.calls import Id, changing, ids_of, reading
from chamberlain_client.models.managed import Managed, ManagedGroup, ManagedSite
from chamberlain_client.operations import Operation
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport

M = TypeVar("M", bound=Managed)


class Subjects(Generic[M]):
    """What guest rules are assigned to: groups or sites, a site by the id of its security group."""

    def __init__(
        self, transport: Transport, type_: type[M], *, lists: Operation, reads: Operation, assigns: Operation
    ) -> None:
        self._transport = transport
        self._type = type_
        self._lists = lists
        self._reads = reads
        self._assigns = assigns

    def list(
        self,
        *,
        assigned: bool | None = None,
        template_id: Id | None = None,
        policy_id: Id | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[M]:
        """All by display name; those whose name begins with `q`. `limit` is how many a page has."""
        query = {"assigned": assigned, "templateId": template_id, "policyId": policy_id, "q": q}
        paging = {"limit": limit, "cursor": cursor}
        return Pages(self._transport, self._lists, items_of(self._type), query={**query, **paging})

    def get(self, id_: Id) -> M:
        """One of them, with the `etag` of what is assigned. Raises NotFound."""
        return self._read(self._transport.send(reading(self._reads, id_)))

    def assign(
        self,
        id_: Id,
        *,
        template_id: Id | UnsetType | None = UNSET,
        policy_id: Id | UnsetType | None = UNSET,
        if_match: str | None = None,
    ) -> M:
        """Assign a guest template, a guest policy, or both. None clears what is assigned, and what is not given stays.
        The effects follow, as the request `assignment_request_id`. Raises NotFound, NotPossible, and Stale when
        something else than with `if_match` is assigned by now."""
        body = ids_of({"templateId": template_id, "policyId": policy_id})
        return self._read(self._transport.send(changing(self._assigns, id_, body=body, if_match=if_match)))

    def _read(self, answer: Answer) -> M:
        return versioned(decoded(answer, self._type), answer)


class ManagedGroups(Subjects[ManagedGroup]):
    """Every group of the directory but the security groups of managed sites."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(
            transport,
            ManagedGroup,
            lists=operations.LIST_MANAGED_GROUPS,
            reads=operations.READ_MANAGED_GROUP,
            assigns=operations.ASSIGN_TO_GROUP,
        )


class ManagedSites(Subjects[ManagedSite]):
    """Sites, each addressed by its security group."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(
            transport,
            ManagedSite,
            lists=operations.LIST_MANAGED_SITES,
            reads=operations.READ_MANAGED_SITE,
            assigns=operations.ASSIGN_TO_SITE,
        )
