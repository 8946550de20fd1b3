"""Subjects: the groups and sites that guest rules can be assigned to, as they are found in the directory and wanted
there."""

from dataclasses import dataclass
from enum import StrEnum

from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.subjects_guests import Guest, GuestRules, Sharing


class SubjectType(StrEnum):
    """A site is addressed by its security group; a group is every other group."""

    GROUP = "group"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class SubjectReference:
    """How a group, or the security group of a site, is found: by its id. `extension` is the name of the extension
    attribute (`<prefix>_group`) that holds the marks."""

    tenant_id: TenantId
    id: GroupId
    extension: str


@dataclass(frozen=True, slots=True)
class ObservedSite:
    """The site of a security group. `default_sharing` is what holds when no guest template says otherwise."""

    url: str
    display_name: str
    sharing: Sharing
    default_sharing: Sharing


@dataclass(frozen=True, slots=True)
class ObservedSubject:
    """A group, or a site with its security group, as the directory shows it.

    `request_id`, `template_id` and `policy_id` are the marks that it carries. `rules` are its own settings, None while
    the tenant's default holds. `site` is None for a group. `guests` are those who are owners or members themselves, in
    the order of their ids; those in groups in it are not among them. `owners` is how many users own it.
    """

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str
    mail: str | None
    is_team: bool
    member_ship_type: MemberShipType
    request_id: RequestId | None
    template_id: TemplateId | None
    policy_id: PolicyId | None
    rules: GuestRules | None
    site: ObservedSite | None
    guests: tuple[Guest, ...]
    owners: int


@dataclass(frozen=True, slots=True)
class WantedGuestRules:
    """What shall be assigned to a group or site. None clears a mark; `rules` of None restores the tenant's default, and
    a site's own default of sharing. `remove_guests` are no longer in the group afterwards, neither as owners nor as
    members; whoever of them is not in it is passed over."""

    tenant_id: TenantId
    id: GroupId
    extension: str
    template_id: TemplateId | None
    policy_id: PolicyId | None
    rules: GuestRules | None
    remove_guests: tuple[UserId, ...] = ()
