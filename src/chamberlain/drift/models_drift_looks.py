"""Looks: one thing each as it is wanted and as the directory shows it, with what of it differs."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from chamberlain.core.ids import UserId
from chamberlain.directory.groups import ObservedGroup
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.properties import DriftProperty, Treatment, treatment_of
from chamberlain.directory.subjects import ObservedSubject
from chamberlain.drift.compare import Difference, assignment_differences, group_differences, mailbox_differences
from chamberlain.drift.models import Managed, ManagedAssignment, ManagedGroup, ManagedMailbox
from chamberlain.tenants.models import Tenant

Observed = ObservedMailbox | ObservedGroup | ObservedSubject


@dataclass(frozen=True, slots=True)
class Look:
    """One thing as it is wanted and shown, with what of it differs and is not ignored."""

    managed: Managed
    observed: Observed | None
    differences: tuple[Difference, ...]

    @property
    def id(self) -> UUID:
        """The mailbox, group or site."""
        return self.managed.subject.id


# What is to be put right of one thing.
Broken = tuple[Look, Sequence[Difference]]


def look_at(tenant: Tenant, managed: Managed, observed: Observed | None) -> Look:
    """One thing with what of it counts as different in this tenant."""
    said = tenant.repair_properties
    if isinstance(managed, ManagedGroup) and isinstance(observed, ObservedGroup):
        managed = managed.without_removed(observed)
    counting = [
        each for each in _differences(managed, observed) if treatment_of(each.name, said) is not Treatment.IGNORED
    ]
    return Look(managed, observed, tuple(counting))


def missing_people(look: Look) -> frozenset[UserId]:
    """Those whom a mailbox or group is found to lack: somebody who has left is wanted no more."""
    names = {each.name for each in look.differences}
    match look.managed, look.observed:
        case ManagedMailbox(wanted=mailbox), ObservedMailbox() as shown_mailbox:
            permitted = mailbox.permissions.keys() if DriftProperty.MAILBOX_PERMISSIONS in names else ()
            owners = mailbox.owners if DriftProperty.MAILBOX_OWNERS in names else ()
            missing = frozenset(owners) - frozenset(shown_mailbox.owners)
            return missing | (frozenset(permitted) - shown_mailbox.permissions.keys())
        case ManagedGroup(wanted=group), ObservedGroup() as shown_group:
            owners = group.owners if DriftProperty.GROUP_OWNERS in names else ()
            members = group.members if DriftProperty.GROUP_MEMBERS in names else ()
            return (frozenset(owners) - shown_group.owners) | (frozenset(members) - shown_group.members)
        case _:
            return frozenset()


def look_without(tenant: Tenant, look: Look, gone: AbstractSet[UserId]) -> Look:
    """The same when nobody wants those who have left."""
    left = missing_people(look) & gone
    match look.managed:
        case ManagedMailbox() | ManagedGroup() if left:
            return look_at(tenant, look.managed.without(left), look.observed)
        case _:
            return look


def apart(broken: Sequence[Broken]) -> Sequence[Sequence[Broken]]:
    """The same in turns, of each thing what the same steps put right in one: what is refused stops nothing else."""
    turns: list[list[Broken]] = []
    for look, differences in broken:
        by_steps = {each.steps: [one for one in differences if one.steps == each.steps] for each in differences}
        for place, together in enumerate(by_steps.values()):
            turns += [[]] if place == len(turns) else []
            turns[place].append((look, together))
    return turns


def people_in(observed: Observed | None) -> int:
    """How many people are named by what the directory shows: what a page takes in memory goes by that."""
    match observed:
        case ObservedMailbox():
            return len(observed.permissions)
        case ObservedGroup():
            return len(observed.members) + len(observed.owners)
        case ObservedSubject():
            return len(observed.guests)
        case None:
            return 0


def _differences(managed: Managed, observed: Observed | None) -> Iterator[Difference]:
    match managed, observed:
        case ManagedMailbox(), ObservedMailbox() | None:
            yield from mailbox_differences(managed.wanted, observed, replies_freely=managed.replies_freely)
        case ManagedGroup(), ObservedGroup() | None:
            yield from group_differences(managed.wanted, observed)
        case ManagedAssignment(), ObservedSubject():
            yield from assignment_differences(managed.assigned.wanted, observed)
        case _:
            # Whoever follows the directory's changes finds out that a group is gone, and what was assigned with it.
            return
