# SPDX-License-Identifier: Apache-2.0
"""Groups and users as Graph returns them, and their marks. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import WRITTEN_ID, GroupId, PolicyId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.subjects import Guest, SubjectSummary, SubjectType

# Extension values and `uniqueName` are returned only if they are selected.
GROUP_PROPERTIES: Final = (
    "id", "displayName", "description", "mail", "mailNickname", "visibility", "groupTypes",
    "resourceProvisioningOptions", "uniqueName",
)  # fmt: skip
# The properties of the schema extension for groups (docs/how-to/microsoft365.md, step 3).
MARK_NAMES: Final = ("requestId", "templateId", "policyId", "siteId")
_GENERAL: Final = "general"


@dataclass(frozen=True, slots=True)
class Group:
    """A group. `marks` are the values of one extension."""

    id: GroupId
    display_name: str
    description: str | None
    mail: str | None
    mail_nickname: str
    member_ship_type: MemberShipType
    is_unified: bool
    is_team: bool
    unique_name: str | None
    marks: Mapping[str, str]

    @property
    def is_dynamic(self) -> bool:
        """Return whether a rule selects its members."""
        return self.member_ship_type is MemberShipType.DYNAMIC

    def mark(self, name: str) -> UUID | None:
        """Return the id in a mark."""
        value = self.marks.get(name, "")
        return UUID(value) if WRITTEN_ID.fullmatch(value) else None


def parse_group(found: Mapping[str, Any], extension: str) -> Group:
    """Parse a group of Graph."""
    types = found.get("groupTypes") or ()
    description = found.get("description")
    mail = found.get("mail")
    return Group(
        id=GroupId(UUID(found["id"])),
        display_name=clean_line(found.get("displayName") or ""),
        description=None if description is None else clean_lines(description),
        mail=None if mail is None else clean_line(mail),
        mail_nickname=clean_line(found.get("mailNickname") or ""),
        member_ship_type=_member_ship_type(types, found.get("visibility")),
        is_unified="Unified" in types,
        is_team="Team" in (found.get("resourceProvisioningOptions") or ()),
        unique_name=found.get("uniqueName"),
        marks=marks_of(found.get(extension)),
    )


def _member_ship_type(types: Iterable[str], visibility: str | None) -> MemberShipType:
    if "DynamicMembership" in types:
        return MemberShipType.DYNAMIC
    return MemberShipType.PUBLIC if visibility == "Public" else MemberShipType.PRIVATE


def marks_of(values: object) -> Mapping[str, str]:
    """Return the set values of an extension."""
    if not isinstance(values, dict):
        return {}
    return {name: str(value) for name, value in values.items() if value is not None and "@" not in name}


def written_marks(marks: Mapping[str, str]) -> dict[str, str]:
    """Select the marks that the extension has."""
    return {name: value for name, value in marks.items() if name in MARK_NAMES}


def summary_of(group: Group, tenant_id: TenantId) -> SubjectSummary:
    """Return the summary of a group."""
    request_id, template_id, policy_id = (group.mark(each) for each in ("requestId", "templateId", "policyId"))
    return SubjectSummary(
        tenant_id=tenant_id,
        id=group.id,
        type=SubjectType.GROUP,
        display_name=group.display_name,
        mail=group.mail,
        is_team=group.is_team,
        member_ship_type=group.member_ship_type,
        request_id=None if request_id is None else RequestId(request_id),
        template_id=None if template_id is None else TemplateId(template_id),
        policy_id=None if policy_id is None else PolicyId(policy_id),
    )


def user_ids(found: Iterable[Mapping[str, Any]]) -> frozenset[UserId]:
    """Return the ids of the users in a list of directory objects."""
    users = (each for each in found if str(each.get("@odata.type", "user")).endswith("user"))
    return frozenset(UserId(UUID(each["id"])) for each in users)


def parse_guest(found: Mapping[str, Any], last_seen_at: datetime | None) -> Guest:
    """Parse a guest of Graph."""
    mail = found.get("mail")
    return Guest(
        UserId(UUID(found["id"])),
        None if mail is None else clean_line(mail),
        clean_line(found.get("displayName") or ""),
        last_seen_at,
    )


def channel_names(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of channels in the order of their creation.

    The general one is the first.
    """
    ordered = sorted(found, key=lambda each: str(each.get("createdDateTime") or ""))
    names = [clean_line(each.get("displayName") or "") for each in ordered]
    return sorted(names, key=lambda name: name.casefold() != _GENERAL)


def require_storable(texts: Iterable[str | None]) -> None:
    """Raise Rejected for NUL and lone surrogates.

    JSON of Graph cannot have them.
    """
    for each in texts:
        if each is not None and not is_storable(each):
            raise Rejected("notAccepted", "The directory cannot store one of the texts. Remove control characters.")


def is_storable(text: str) -> bool:
    """Return whether Graph can have a text."""
    return not any(one == "\0" or "\ud800" <= one <= "\udfff" for one in text)
