# SPDX-License-Identifier: Apache-2.0
"""Groups and sites with their assignments, as observed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from chamberlain.auth.models import Actor
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId
from chamberlain.directory.groups import MemberShipType, ObservedGroup, WantedGroup
from chamberlain.directory.subjects import ObservedSubject, Sharing, SubjectSummary, SubjectType
from chamberlain.guests.models import Assignment
from chamberlain.requests.models import StepRecord


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """The observed values of a group or site.

    `request_id` is the mark of its request. `site_url` and `sharing` are None for groups.
    """

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str
    mail: str | None
    is_team: bool
    member_ship_type: MemberShipType
    request_id: RequestId | None
    site_url: str | None
    sharing: Sharing | None
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class SubjectRecord:
    """A group or site with its assignment.

    `generation` counts changes of the assignment. `effects` are the steps of its request while that is stored.
    `is_incomplete` is true if the request was cancelled or failed. `assigned_type` is the type at the last change, or
    None if unknown. Template and policy have their current names. `metadata` is that of the group's request.
    """

    entry: SubjectEntry
    assignment: Assignment
    template_name: str | None
    policy_name: str | None
    generation: int
    effects: tuple[StepRecord, ...]
    open_findings: int
    assignment_request_id: RequestId | None
    assigned_at: datetime | None
    assigned_by: Actor | None
    is_incomplete: bool = False
    assigned_type: SubjectType | None = None
    metadata: Mapping[str, str | bool] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        """Names this version of the assignment."""
        return self.assignment.etag

    @property
    def has_changed_type(self) -> bool:
        """Return whether the type changed since the template was assigned.

        A group can become a site, and vice versa.
        """
        was = self.assigned_type
        return self.assignment.template_id is not None and was is not None and was is not self.entry.type


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A key of metadata, and its value or any (None).

    A boolean is `true` or `false`.
    """

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class SubjectFilter:
    """Filter of groups or sites.

    None matches any. `prefix` is the start of the display name.
    """

    type: SubjectType
    is_assigned: bool | None = None
    template_id: TemplateId | None = None
    policy_id: PolicyId | None = None
    prefix: str | None = None
    metadata: MetadataFilter | None = None


def to_entry(observed: ObservedSubject, *, at: datetime) -> SubjectEntry:
    """Convert an observation.

    A site has its own name, not that of its security group.
    """
    site = observed.site
    return SubjectEntry(
        tenant_id=observed.tenant_id,
        id=observed.id,
        type=observed.type,
        display_name=observed.display_name if site is None else site.display_name,
        mail=observed.mail,
        is_team=observed.is_team,
        member_ship_type=observed.member_ship_type,
        request_id=observed.request_id,
        site_url=None if site is None else site.url,
        sharing=None if site is None else site.sharing,
        observed_at=at,
    )


def summary_entry(summary: SubjectSummary, *, at: datetime) -> SubjectEntry:
    """Convert the summary of a group.

    Sites need an observation, which has their address and their sharing.
    """
    return SubjectEntry(
        tenant_id=summary.tenant_id,
        id=summary.id,
        type=SubjectType.GROUP,
        display_name=summary.display_name,
        mail=summary.mail,
        is_team=summary.is_team,
        member_ship_type=summary.member_ship_type,
        request_id=summary.request_id,
        site_url=None,
        sharing=None,
        observed_at=at,
    )


def new_entry(wanted: WantedGroup, group: ObservedGroup, *, at: datetime) -> SubjectEntry:
    """Build the entry of a new group."""
    return SubjectEntry(
        tenant_id=wanted.tenant_id,
        id=group.id,
        type=SubjectType.GROUP,
        display_name=group.display_name,
        mail=group.mail,
        is_team=group.channels is not None,
        member_ship_type=wanted.member_ship_type,
        request_id=wanted.request_id,
        site_url=None,
        sharing=None,
        observed_at=at,
    )


def require_type(found: SubjectType | None, group_id: GroupId, wanted: SubjectType) -> None:
    """Validate the type of a group. Raises NotFound.

    A group of another type has another path.
    """
    match found:
        case None:
            raise unknown_subject(wanted)
        case SubjectType.SITE if wanted is SubjectType.GROUP:
            other = f"/admin/collab/v1/manage/spo/{group_id}/"
            raise NotFound(f"This is the security group of a managed site. Its path is {other}.")
        case SubjectType.GROUP if wanted is SubjectType.SITE:
            other = f"/admin/collab/v1/manage/groups/{group_id}/"
            raise NotFound(f"This group belongs to no site. Its path is {other}.")
        case SubjectType.GROUP | SubjectType.SITE:
            return


def unknown_subject(wanted: SubjectType) -> NotFound:
    """Build the error for an unknown group or site."""
    what = "There is no such group." if wanted is SubjectType.GROUP else "There is no site with such a security group."
    return NotFound(f"{what} The list has those that there are.")
