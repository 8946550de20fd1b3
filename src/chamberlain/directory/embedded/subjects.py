# SPDX-License-Identifier: Apache-2.0
"""Converts groups, sites and guest rules, and reads them for the API."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from chamberlain.core.ids import WRITTEN_ID, GroupId, PolicyId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.text import clean_line
from chamberlain.directory.embedded.groups import member_ship_type_of
from chamberlain.directory.embedded.mapping import KEY_MEMBER, port_errors
from chamberlain.directory.port import Stayed
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import (
    AddedBy,
    Guest,
    GuestRules,
    ObservedSite,
    ObservedSubject,
    Sharing,
    SubjectReference,
    SubjectSummary,
    SubjectType,
    WantedGuestRules,
)
from chamberlain.embedded.directory.changes import SubjectSummaryShown
from chamberlain.embedded.directory.database import Pool, one_tenant
from chamberlain.embedded.directory.guests import (
    GuestEntry,
    Guests,
    GuestSettings,
    GuestShown,
    SiteShown,
    SubjectName,
    SubjectShown,
)

TEMPLATE_MEMBER, POLICY_MEMBER = "templateId", "policyId"

_CAPABILITIES: Mapping[Sharing, str] = MappingProxyType(
    {
        Sharing.DISABLED: "disabled",
        Sharing.EXISTING_GUESTS: "existingExternalUserSharingOnly",
        Sharing.NEW_AND_EXISTING_GUESTS: "externalUserSharingOnly",
        Sharing.ANYONE: "externalUserAndGuestSharing",
    }
)
_SHARINGS: Mapping[str, Sharing] = MappingProxyType({written: one for one, written in _CAPABILITIES.items()})

_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "membersFollowRule": "{} is in this group by its membership rule and cannot be removed by hand. Change the "
        "rule in the directory.",
        "lastOwner": "{} is the last owner of this group and was not removed. Name another owner in the directory, and "
        "remove this guest there.",
    }
)


def name_of(reference: SubjectReference | WantedGuestRules) -> SubjectName:
    """Return the identity of a group."""
    return SubjectName(reference.tenant_id, reference.id, reference.extension)


def entry_of(wanted: WantedGuestRules, steps: Collection[Step]) -> GuestEntry:
    """Select the guest rules that these steps set."""
    rules = wanted.rules
    return GuestEntry(
        name=name_of(wanted),
        values=_marks(wanted) if Step.MARK_ASSIGNMENT in steps else {},
        sets_access=Step.SET_GUEST_ACCESS in steps,
        sets_domains=Step.SET_GUEST_DOMAINS in steps,
        sets_sharing=Step.SET_SHARING_CAPABILITY in steps,
        settings=None if rules is None else _settings(rules),
        sharing_capability=None if rules is None or rules.sharing is None else _CAPABILITIES[rules.sharing],
        removed=wanted.remove_guests if Step.SET_GUEST_ACCESS in steps else (),
    )


def removal_of(tenant_id: TenantId, group_id: GroupId, guests: Collection[UserId]) -> GuestEntry:
    """Return the entry that only removes these guests."""
    # Reads no extension attribute.
    return GuestEntry(name=SubjectName(tenant_id, group_id, ""), removed=guests)


def observed_of(shown: SubjectShown) -> ObservedSubject:
    """Convert the state of a group or site."""
    request_id, template_id, policy_id = _marks_in(shown.values)
    site = None if shown.site is None else _site(shown.site)
    return ObservedSubject(
        tenant_id=TenantId(shown.tenant_id),
        id=GroupId(shown.id),
        type=SubjectType.GROUP if site is None else SubjectType.SITE,
        display_name=clean_line(shown.display_name),
        mail=None if shown.mail is None else clean_line(shown.mail),
        is_team=shown.is_team,
        member_ship_type=member_ship_type_of(shown),
        request_id=request_id,
        template_id=template_id,
        policy_id=policy_id,
        rules=None if shown.settings is None else _rules(shown.settings, site),
        site=site,
        guests=tuple(map(_guest, shown.guests)),
        owners=shown.owners,
        guest_owners=frozenset([UserId(guest.id) for guest in shown.guests if guest.is_owner]),
    )


def summary_of(shown: SubjectSummaryShown) -> SubjectSummary:
    """Convert the summary of a group or site."""
    request_id, template_id, policy_id = _marks_in(shown.values)
    return SubjectSummary(
        tenant_id=TenantId(shown.tenant_id),
        id=GroupId(shown.id),
        type=SubjectType.SITE if shown.is_site else SubjectType.GROUP,
        display_name=clean_line(shown.display_name),
        mail=None if shown.mail is None else clean_line(shown.mail),
        is_team=shown.is_team,
        member_ship_type=member_ship_type_of(shown),
        request_id=request_id,
        template_id=template_id,
        policy_id=policy_id,
    )


def stayed_in(shown: SubjectShown | None, removed: Collection[UserId]) -> tuple[Stayed, ...]:
    """List the guests who could not be removed, with the reasons."""
    if shown is None:
        return ()
    there = [guest for guest in shown.guests if guest.id in removed]
    if shown.is_dynamic:
        return tuple([_stayed(guest, "membersFollowRule") for guest in there])
    # A user has added the other ones again.
    return tuple([_stayed(guest, "lastOwner") for guest in there if guest.is_owner])


def _marks(wanted: WantedGuestRules) -> Mapping[str, str | None]:
    template, policy = wanted.template_id, wanted.policy_id
    return {
        TEMPLATE_MEMBER: None if template is None else str(template),
        POLICY_MEMBER: None if policy is None else str(policy),
    }


def _marks_in(values: Mapping[str, str]) -> tuple[RequestId | None, TemplateId | None, PolicyId | None]:
    """Read the ids in marks. Those that contain no id are ignored."""
    ids = {member: UUID(value) for member, value in values.items() if WRITTEN_ID.fullmatch(value)}
    request, template, policy = (ids.get(member) for member in (KEY_MEMBER, TEMPLATE_MEMBER, POLICY_MEMBER))
    return (
        None if request is None else RequestId(request),
        None if template is None else TemplateId(template),
        None if policy is None else PolicyId(policy),
    )


def _settings(rules: GuestRules) -> GuestSettings:
    return GuestSettings(
        allow_to_add_guests=rules.allowed,
        guests_added_by=rules.added_by,
        allowed_guest_domains=rules.allowed_domains,
        blocked_guest_domains=rules.blocked_domains,
    )


def _rules(settings: GuestSettings, site: ObservedSite | None) -> GuestRules:
    return GuestRules(
        allowed=settings.allow_to_add_guests,
        added_by=AddedBy(settings.guests_added_by),
        allowed_domains=settings.allowed_guest_domains,
        blocked_domains=settings.blocked_guest_domains,
        sharing=None if site is None else site.sharing,
    )


def _site(shown: SiteShown) -> ObservedSite:
    return ObservedSite(
        url=shown.web_url,
        display_name=clean_line(shown.display_name),
        sharing=_SHARINGS[shown.sharing_capability],
        default_sharing=_SHARINGS[shown.default_sharing_capability],
    )


def _stayed(guest: GuestShown, code: str) -> Stayed:
    name = clean_line(guest.display_name)
    return Stayed(UserId(guest.id), code, _REASONS[code].format(name), name)


def _guest(shown: GuestShown) -> Guest:
    return Guest(
        UserId(shown.id), shown.mail and clean_line(shown.mail), clean_line(shown.display_name), shown.last_seen_at
    )


class EmbeddedSubjects:
    """Reads groups and sites with a role that sees one tenant.

    `answer` raises during an injected outage.
    """

    def __init__(self, pool: Pool, answer: Callable[[], None] = lambda: None) -> None:
        self._pool = pool
        self._answer = answer

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Read groups and sites of one tenant.

        None for each that does not exist. Raises TryAgain.
        """
        with port_errors():
            self._answer()
            async with one_tenant(self._pool, references[0].tenant_id) as connection:
                found = await Guests(connection).observe([name_of(each) for each in references])
        return [None if shown is None else observed_of(shown) for shown in found]
