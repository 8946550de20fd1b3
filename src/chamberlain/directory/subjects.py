"""Subjects: the groups and sites that guest rules can be assigned to, as they are found in the directory and wanted
there."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import Step


class AddedBy(StrEnum):
    """Who may add guests."""

    MEMBERS = "members"
    OWNERS = "owners"
    ADMINISTRATORS = "administrators"


class Sharing(StrEnum):
    """With whom what lies on a site may be shared, from nobody outside to anyone with the link."""

    DISABLED = "disabled"
    EXISTING_GUESTS = "existingGuests"
    NEW_AND_EXISTING_GUESTS = "newAndExistingGuests"
    ANYONE = "anyone"


class PresentGuests(StrEnum):
    """What becomes of guests who are there already when a rule is assigned that they are against."""

    KEEP = "keep"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class GuestRules:
    """What guests may do. No allowed domains are all domains but the blocked ones. `sharing` is of sites; a group that
    has none shows None there, and what is wanted of its sharing has no effect."""

    allowed: bool
    added_by: AddedBy
    allowed_domains: tuple[str, ...]
    blocked_domains: tuple[str, ...]
    sharing: Sharing | None


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody of another organisation who is in a group. `last_seen_at` is when they were last active, None where the
    directory does not know."""

    id: UserId
    mail: str | None
    display_name: str
    last_seen_at: datetime | None = None


def is_against(guest: Guest, rules: GuestRules) -> str | None:
    """Why a guest who is there is against the rules, as a sentence; None when nothing is against it.

    Domains are compared whole and without regard to letter case; a domain below an allowed or blocked one is another.
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
    """The domain of a guest's address, as domains are compared; None without an address."""
    return None if guest.mail is None else normalised(guest.mail.rpartition("@")[2])


def normalised(domain: str) -> str:
    """A domain as domains are compared."""
    return domain.strip().rstrip(".").lower()


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


def plan_guest_rules(subject_type: SubjectType, *, template_changes: bool) -> tuple[Step, ...]:
    """The steps of an assignment in their order; those that do not apply are left out.

    Where only the policy changes, the directory gets its mark and nothing else: a policy has no settings there, and
    what somebody has set without a guest template stays.
    """
    if not template_changes:
        return (Step.MARK_ASSIGNMENT,)
    steps = (Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS, Step.SET_GUEST_DOMAINS)
    return (*steps, Step.SET_SHARING_CAPABILITY) if subject_type is SubjectType.SITE else steps


def remaining_of_subject(
    wanted: WantedGuestRules, observed: ObservedSubject | None, steps: Iterable[Step]
) -> tuple[Step, ...]:
    """Those of the steps whose effect the directory does not show yet."""
    return tuple([step for step in steps if observed is None or not is_done(step, wanted, observed)])


def is_done(step: Step, wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Whether a group or site shows what this step brings about. Raises ValueError for a step of something else."""
    if step not in EFFECTS:
        raise ValueError(f"{step} is no step of an assignment.")
    return EFFECTS[step](wanted, observed)


def without(observed: ObservedSubject | None, gone: Collection[UserId]) -> ObservedSubject | None:
    """The group or site when these guests are not in it any more."""
    if observed is None:
        return None
    return replace(observed, guests=tuple([guest for guest in observed.guests if guest.id not in gone]))


def is_marked(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Whether it carries the marks of just what is assigned."""
    return (observed.template_id, observed.policy_id) == (wanted.template_id, wanted.policy_id)


def has_access(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Whether guests may be added as wanted, and those who shall go are gone."""
    gone = {guest.id for guest in observed.guests}.isdisjoint(wanted.remove_guests)
    return gone and access_of(observed.rules) == access_of(wanted.rules)


def has_domains(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Whether guests of the wanted domains may be added."""
    return domains_of(observed.rules) == domains_of(wanted.rules)


def has_sharing(wanted: WantedGuestRules, observed: ObservedSubject) -> bool:
    """Whether a site shares as wanted; a group has nothing to share."""
    if observed.site is None:
        return True
    default = observed.site.default_sharing
    return observed.site.sharing == ((wanted.rules and wanted.rules.sharing) or default)


def access_of(rules: GuestRules | None) -> object:
    """What of the rules says whether guests may be added, and by whom."""
    return None if rules is None else (rules.allowed, rules.added_by)


def domains_of(rules: GuestRules | None) -> object:
    """What of the rules says where guests may come from; their order says nothing."""
    if rules is None:
        return None
    return frozenset(map(normalised, rules.allowed_domains)), frozenset(map(normalised, rules.blocked_domains))


EFFECTS: Mapping[Step, Callable[[WantedGuestRules, ObservedSubject], bool]] = {
    Step.MARK_ASSIGNMENT: is_marked,
    Step.SET_GUEST_ACCESS: has_access,
    Step.SET_GUEST_DOMAINS: has_domains,
    Step.SET_SHARING_CAPABILITY: has_sharing,
}
