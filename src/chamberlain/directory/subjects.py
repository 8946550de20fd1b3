# SPDX-License-Identifier: Apache-2.0
"""Groups and sites with guest rules: desired and observed state."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import Step


class AddedBy(StrEnum):
    """Users who may add guests."""

    MEMBERS = "members"
    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


class Sharing(StrEnum):
    """Sharing of a site's content, from disabled to anyone with the link."""

    DISABLED = "disabled"
    EXISTING_GUESTS = "existingGuests"
    NEW_AND_EXISTING_GUESTS = "newAndExistingGuests"
    ANYONE = "anyone"


class PresentGuests(StrEnum):
    """Treatment of present guests whom a new rule forbids."""

    KEEP = "keep"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class ObservedRules:
    """Observed rules for guests.

    Users and domains are None if the directory does not report them. They are never compared then.
    """

    allowed: bool
    added_by: AddedBy | None
    allowed_domains: tuple[str, ...] | None
    blocked_domains: tuple[str, ...] | None
    sharing: Sharing | None


@dataclass(frozen=True, slots=True)
class GuestRules(ObservedRules):
    """Rules for guests, all of them known.

    Without allowed domains, all but the blocked ones are allowed. `sharing` is for sites. A group shows None there, and
    ignores a desired sharing.
    """

    allowed: bool
    added_by: AddedBy
    allowed_domains: tuple[str, ...]
    blocked_domains: tuple[str, ...]
    sharing: Sharing | None


@dataclass(frozen=True, slots=True)
class Guest:
    """A user of another organisation in a group.

    `last_seen_at` is the time of the last activity, None if it is unknown.
    """

    id: UserId
    mail: str | None
    display_name: str
    last_seen_at: datetime | None = None


def is_against(guest: Guest, rules: GuestRules) -> str | None:
    """Return the sentence why a guest violates the rules, or None.

    Domains are compared whole and without regard to letter case. Subdomains are different domains.
    """
    if not rules.allowed:
        return f"{guest.display_name} is a guest, and guests are not allowed here."
    domain = domain_of(guest)
    if rules.allowed_domains and domain not in {normalised(one) for one in rules.allowed_domains}:
        where = "has no address" if domain is None else f"is of {domain}"
        return f"{guest.display_name} {where}, and only guests of {', '.join(rules.allowed_domains)} are allowed here."
    if domain in {normalised(one) for one in rules.blocked_domains}:
        return f"{guest.display_name} is of {domain}, and guests of that domain are not allowed here."
    return None


def domain_of(guest: Guest) -> str | None:
    """Return the normalized domain of a guest's address, if any."""
    return None if guest.mail is None else normalised(guest.mail.rpartition("@")[2])


def normalised(domain: str) -> str:
    """Normalize a domain for comparison."""
    return domain.strip().rstrip(".").lower()


class SubjectType(StrEnum):
    """Type of a subject.

    A site is addressed by its security group.
    """

    GROUP = "group"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class SubjectReference:
    """Finds a group, or the security group of a site, by id.

    `extension` is the name of the extension attribute (`<prefix>_group`) with the marks.
    """

    tenant_id: TenantId
    id: GroupId
    extension: str


@dataclass(frozen=True, slots=True)
class ObservedSite:
    """The site of a security group.

    `default_sharing` applies without a guest template.
    """

    url: str
    display_name: str
    sharing: Sharing
    default_sharing: Sharing


@dataclass(frozen=True, slots=True)
class ObservedSubject:
    """Observed state of a group or site.

    A site has its security group. `request_id`, `template_id` and `policy_id` are its marks. `rules` are its own
    settings, None under the tenant's default. `site` is None for a group. `guests` are direct owners or members, in the
    order of their ids. `owners` is the number of users who own it, `guest_owners` are the guests among them.
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
    rules: ObservedRules | None
    site: ObservedSite | None
    guests: tuple[Guest, ...]
    owners: int
    guest_owners: frozenset[UserId] = frozenset()
    observed_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SubjectSummary:
    """Summary of a group or site, without guests, rules and site.

    `type` is None if the list does not say it. `display_name` is that of the group, also for a site.
    """

    tenant_id: TenantId
    id: GroupId
    type: SubjectType | None
    display_name: str
    mail: str | None
    is_team: bool
    member_ship_type: MemberShipType
    request_id: RequestId | None
    template_id: TemplateId | None
    policy_id: PolicyId | None


@dataclass(frozen=True, slots=True)
class WantedGuestRules:
    """Desired assignment of a group or site.

    None clears a mark. `rules` of None restores the tenant's default, and a site's default sharing. `remove_guests` are
    removed as owners and as members; those who are not in the group are skipped.
    """

    tenant_id: TenantId
    id: GroupId
    extension: str
    template_id: TemplateId | None
    policy_id: PolicyId | None
    rules: GuestRules | None
    remove_guests: tuple[UserId, ...] = ()


def plan_guest_rules(subject_type: SubjectType, *, template_changes: bool) -> tuple[Step, ...]:
    """Plan the steps of an assignment in their order.

    Steps that do not apply are omitted. If only the policy changes, the directory gets its mark and nothing else: a
    policy has no settings there, and settings without a guest template stay.
    """
    if not template_changes:
        return (Step.MARK_ASSIGNMENT,)
    steps = (Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS, Step.SET_GUEST_DOMAINS)
    return (*steps, Step.SET_SHARING_CAPABILITY) if subject_type is SubjectType.SITE else steps


def remaining_of_subject(
    wanted: WantedGuestRules, observed: ObservedSubject | None, steps: Iterable[Step]
) -> tuple[Step, ...]:
    """List the steps whose effect is not observed yet.

    A step whose effect the directory does not report is one of them, because it may be missing after a crash.
    """
    if observed is None:
        return tuple(steps)
    return tuple([each for each in steps if not is_done(each, wanted, observed) or _is_hidden(each, wanted, observed)])


def _is_hidden(step: Step, wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    rules = observed.rules
    if rules is None or wanted.rules is None:
        return False
    is_access = step is Step.SET_GUEST_ACCESS and rules.added_by is None
    return is_access or (step is Step.SET_GUEST_DOMAINS and None in {rules.allowed_domains, rules.blocked_domains})


def is_done(step: Step, wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Return whether the effect of a step is observed.

    An effect that is not reported counts as observed. Raises ValueError for a step of another noun.
    """
    if step not in EFFECTS:
        raise ValueError(f"{step} is no step of an assignment.")
    return EFFECTS[step](wanted, observed)


def without(observed: ObservedSubject | None, gone: Collection[UserId]) -> ObservedSubject | None:
    """Return the group or site without these guests."""
    if observed is None:
        return None
    return replace(observed, guests=tuple([guest for guest in observed.guests if guest.id not in gone]))


def guests_who_stay(observed: ObservedSubject, going: Collection[UserId]) -> Mapping[UserId, str]:
    """Predict which guests the directory does not remove, with a code.

    A membership rule keeps its members, and a group keeps its last owner.
    """
    there = [guest.id for guest in observed.guests if guest.id in going]
    if observed.member_ship_type is MemberShipType.DYNAMIC:
        return dict.fromkeys(there, "membersFollowRule")
    owners = [guest_id for guest_id in there if guest_id in observed.guest_owners]
    return {min(owners): "lastOwner"} if owners and len(owners) == observed.owners else {}


def is_marked(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Return whether it has exactly the assigned marks."""
    return (observed.template_id, observed.policy_id) == (wanted.template_id, wanted.policy_id)


def has_access(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Return whether the desired access of guests is observed."""
    gone = {guest.id for guest in observed.guests}.isdisjoint(wanted.remove_guests)
    return gone and _shows_access(observed.rules, wanted.rules)


def has_domains(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Return whether the desired domains of guests apply."""
    return _shows_domains(observed.rules, wanted.rules)


def has_sharing(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Return whether a site shares as desired.

    A group shares nothing.
    """
    if observed.site is None:
        return True
    default = observed.site.default_sharing
    return observed.site.sharing == ((wanted.rules and wanted.rules.sharing) or default)


def _shows_access(observed: ObservedRules | None, wanted: GuestRules | None) -> bool:
    if observed is None or wanted is None:
        return observed is wanted
    return observed.allowed == wanted.allowed and observed.added_by in {None, wanted.added_by}


def _shows_domains(observed: ObservedRules | None, wanted: GuestRules | None) -> bool:
    if observed is None or wanted is None:
        return observed is wanted
    return _are_same(observed.allowed_domains, wanted.allowed_domains) and _are_same(
        observed.blocked_domains, wanted.blocked_domains
    )


def _are_same(observed: Iterable[str] | None, wanted: Iterable[str]) -> bool:
    """Compare domains without order, if the directory reports them."""
    return observed is None or set(map(normalised, observed)) == set(map(normalised, wanted))


EFFECTS: Mapping[Step, Callable[[WantedGuestRules, ObservedSubject], bool]] = {
    Step.MARK_ASSIGNMENT: is_marked,
    Step.SET_GUEST_ACCESS: has_access,
    Step.SET_GUEST_DOMAINS: has_domains,
    Step.SET_SHARING_CAPABILITY: has_sharing,
}
