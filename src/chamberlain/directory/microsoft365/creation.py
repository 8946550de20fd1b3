# SPDX-License-Identifier: Apache-2.0
"""Creates the group of a request once.

By default, an upsert has the request id in the unique name, so that the directory guarantees one group. No tenant has
confirmed it for applications yet, so the settings can choose `POST`. Its guarantee is the address, which is unique too.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.microsoft365.calls import groups as calls
from chamberlain.directory.microsoft365.members import Members
from chamberlain.directory.microsoft365.objects import Group, written_marks
from chamberlain.directory.microsoft365.wire.faults import Refused, not_yet
from chamberlain.directory.microsoft365.wire.graph import Graph

_ADDRESS: Final = frozenset({"mailNickname", "proxyAddresses", "mail"})
_DELETED: Final = (
    "A deleted group has the unique name of this request, and keeps it for 30 days. Restore it in Microsoft 365, or "
    "delete it permanently."
)


@dataclass(frozen=True, slots=True)
class Created:
    """A new group with the people of its creation."""

    group: Group
    owners: Sequence[UserId]
    members: Sequence[UserId]


class Creation(ABC):
    """A way to create groups in one directory."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._members = Members(graph)

    @abstractmethod
    async def find(self, wanted: WantedGroup) -> Group | None:
        """Find the group of an earlier attempt."""

    async def create(self, wanted: WantedGroup, people: Sequence[UserId]) -> Created | None:
        """Create a group with its first owners and members.

        Returns None if it exists. Raises Rejected for a taken address or an unknown user.
        """
        owners = wanted.owners[: calls.MOST_REFERENCES]
        members = people[: calls.MOST_REFERENCES - len(owners)]
        if len(owners) + len(members) < len(wanted.owners) + len(people):
            # Graph checks those in the request alone.
            await self._members.require_known((*wanted.owners, *people))
        body = _body(wanted) | {"owners@odata.bind": calls.bound(self.graph, owners)}
        if members:
            body["members@odata.bind"] = calls.bound(self.graph, members)
        try:
            group = await self.send(wanted, body)
        except Refused as refused:
            if await self.exists(wanted, refused):
                return None
            if refused.is_missing:
                await self._members.require_known((*wanted.owners, *people))
                raise not_yet() from refused
            raise _reason(wanted, refused) from refused
        return None if group is None else Created(group, owners, members)

    @abstractmethod
    async def send(self, wanted: WantedGroup, body: Mapping[str, Any]) -> Group | None:
        """Create a group, or return None if it exists."""

    @abstractmethod
    async def exists(self, wanted: WantedGroup, refused: Refused) -> bool:
        """Return whether the creation was refused because the group exists."""


class Upsert(Creation):
    """Creation by the unique name (group-upsert.md)."""

    async def find(self, wanted: WantedGroup) -> Group | None:
        """Find a group by its unique name.

        No index lags behind it.
        """
        return await calls.get_named_group(self.graph, wanted.request_id, wanted.extension)

    async def send(self, wanted: WantedGroup, body: Mapping[str, Any]) -> Group | None:
        """Create a group by an upsert."""
        return await calls.upsert_group(self.graph, wanted.request_id, body, wanted.extension)

    async def exists(self, wanted: WantedGroup, refused: Refused) -> bool:
        """Return whether the group of the upsert exists."""
        if refused.says("alreadyAdded"):
            return True
        if "uniqueName" not in refused.targets:
            return False
        # A concurrent attempt, or a deleted group that keeps its name for 30 days (V15).
        if await self.find(wanted) is not None:
            return True
        raise not_yet(Reason.build("partNotSet", problem=_DELETED)) from refused


class Post(Creation):
    """Creation without a unique name, which is set afterwards (group-post-groups.md)."""

    async def find(self, wanted: WantedGroup) -> Group | None:
        """Find a group by its unique name or its mark.

        A missing unique name is set.
        """
        group = await calls.get_named_group(self.graph, wanted.request_id, wanted.extension)
        if group is not None:
            return group
        marked = await calls.find_marked_groups(self.graph, wanted.request_id, wanted.extension)
        if not marked:
            return None
        if marked[0].unique_name is None:
            await calls.name_group(self.graph, marked[0].id, wanted.request_id)
        return marked[0]

    async def send(self, wanted: WantedGroup, body: Mapping[str, Any]) -> Group | None:
        """Create a group, and set its unique name."""
        group = await calls.create_group(self.graph, body, wanted.extension)
        await calls.name_group(self.graph, group.id, wanted.request_id)
        return group

    async def exists(self, wanted: WantedGroup, refused: Refused) -> bool:
        """Return whether the group of this request has the address."""
        if "mailNickname" not in refused.targets:
            return False
        holders = await calls.find_groups_by_nickname(self.graph, nickname(wanted), wanted.extension)
        if not holders:
            # The index lags behind the directory, or a deleted group has the address.
            problem = f"A group that cannot be read now has the address {wanted.mail}."
            raise not_yet(Reason.build("partNotSet", problem=problem)) from refused
        return any(each.marks.get("requestId", "").lower() == str(wanted.request_id) for each in holders)


def _reason(wanted: WantedGroup, refused: Refused) -> Rejected:
    """Return the reason of a refused creation."""
    if refused.targets & _ADDRESS:
        return Rejected("addressTaken", f"The address {wanted.mail} is taken. Choose another one.")
    if refused.graph_code == "InvalidDynamicMembershipRule":
        sentence = "The directory does not accept the membership rule, beginning at character 1."
        return Rejected("ruleInvalid", sentence)
    return refused


def _body(wanted: WantedGroup) -> dict[str, Any]:
    """Return the properties of a new group."""
    types = ["Unified"]
    rule: dict[str, Any] = {}
    if wanted.member_ship_type is MemberShipType.DYNAMIC:
        types.append("DynamicMembership")
        rule = {"membershipRule": wanted.membership_rule, "membershipRuleProcessingState": "On"}
    return {
        "displayName": wanted.display_name,
        "description": wanted.description or None,
        "mailNickname": nickname(wanted),
        "mailEnabled": True,
        "securityEnabled": False,
        "groupTypes": types,
        "visibility": visibility(wanted),
        **rule,
        wanted.extension: written_marks(wanted.marks),
    }


def nickname(wanted: WantedGroup) -> str:
    """Return the nickname of the wanted address.

    The address of the group is the nickname at the default domain of the directory.
    """
    return wanted.mail.partition("@")[0] or wanted.mail_nickname


def visibility(wanted: WantedGroup) -> str:
    """Return the visibility of a group."""
    return "Public" if wanted.member_ship_type is MemberShipType.PUBLIC else "Private"
