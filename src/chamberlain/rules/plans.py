"""Plans: the steps that lead from what the directory shows to what is wanted."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from chamberlain.rules.groups import ObservedGroup, WantedGroup

# Those of the marks that a step of their own sets.
GUEST_MARKS = ("templateId", "policyId")


class Step(StrEnum):
    """One idempotent "ensure ..." towards the directory, by the name that the API shows."""

    CHECK_PEOPLE = "checkPeople"
    CREATE_GROUP = "createGroup"
    ADD_OWNERS = "addOwners"
    ADD_MEMBERS = "addMembers"
    SET_LABEL = "setLabel"
    CREATE_TEAM = "createTeam"
    CREATE_CHANNELS = "createChannels"
    ASSIGN_GUEST_RULES = "assignGuestRules"


def plan_group(wanted: WantedGroup, *, people_checked: bool) -> tuple[Step, ...]:
    """The steps of a group or team in their order; those that do not apply to it are left out.

    It is asked at submission, in a dry run and by the worker. `people_checked` is False when the directory did not
    answer at submission.
    """
    steps = tuple(steps_of(wanted))
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def steps_of(wanted: WantedGroup) -> Iterator[Step]:
    """What is to be done in the directory. A group is created with its first owner, who is the caller."""
    yield Step.CREATE_GROUP
    if len(wanted.owners) > 1:
        yield Step.ADD_OWNERS
    if not set(wanted.members).issubset(wanted.owners):
        yield Step.ADD_MEMBERS
    if wanted.label_id is not None:
        yield Step.SET_LABEL
    if wanted.channels is not None:
        yield Step.CREATE_TEAM
    if wanted.channels:
        yield Step.CREATE_CHANNELS
    if any(mark in wanted.marks for mark in GUEST_MARKS):
        yield Step.ASSIGN_GUEST_RULES


def remaining(wanted: WantedGroup, observed: ObservedGroup | None, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Those of the steps whose effect the directory does not show yet."""
    return tuple([step for step in steps if observed is None or not is_done(step, wanted, observed)])


def is_done(step: Step, wanted: WantedGroup, observed: ObservedGroup) -> bool:
    """Whether a group that exists shows what this step brings about."""
    match step:
        case Step.CHECK_PEOPLE | Step.CREATE_GROUP:
            # A group is never created before its people are checked.
            return True
        case Step.ADD_OWNERS:
            return observed.owners.issuperset(wanted.owners)
        case Step.ADD_MEMBERS:
            return observed.members.issuperset(wanted.members)
        case Step.SET_LABEL:
            return observed.label_id == wanted.label_id
        case Step.CREATE_TEAM:
            return observed.channels is not None
        case Step.CREATE_CHANNELS:
            return set(wanted.channels or ()).issubset(observed.channels or ())
        case Step.ASSIGN_GUEST_RULES:
            return all(observed.marks.get(mark) == wanted.marks[mark] for mark in GUEST_MARKS if mark in wanted.marks)


def title(step: Step) -> str:
    """A step as a person reads it."""
    return TITLES[step]


TITLES: Mapping[Step, str] = {
    Step.CHECK_PEOPLE: "Check that everybody exists",
    Step.CREATE_GROUP: "Create the group",
    Step.ADD_OWNERS: "Add the owners",
    Step.ADD_MEMBERS: "Add the members",
    Step.SET_LABEL: "Set the label",
    Step.CREATE_TEAM: "Make the group a team",
    Step.CREATE_CHANNELS: "Create the channels",
    Step.ASSIGN_GUEST_RULES: "Assign the rules for guests",
}
