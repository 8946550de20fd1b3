"""Plans for guest rules: the steps that lead from what the directory shows of a group or site to what is assigned."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from chamberlain.core.ids import UserId
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectType, WantedGuestRules
from chamberlain.directory.subjects_guests import GuestRules, normalised


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
