"""Groups in the embedded directory with faults on purpose: each step is a call of its own, and may have to wait."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from chamberlain.directory.embedded.entries import entry_of, mark_of, observed_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.embedded.walking import walk
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.port import Outcome, Work
from chamberlain.directory.steps import GUEST_MARKS, Step, remaining
from chamberlain.embedded.directory.entries import GroupEntry
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faulty import FaultyGroups


class GroupSteps:
    """Makes groups step by step. What stops a step is told for that group alone; the next run goes on there."""

    def __init__(self, groups: FaultyGroups) -> None:
        self._groups = groups

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What is visible of each by now."""
        with passing():
            shown = await self._groups.observe([mark_of(one) for one in references])
        return [None if one is None else observed_of(one) for one in shown]

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Take the steps of each, one after the other, as far as they go; no others."""
        unique = {mark_of(_reference(work)): work for work in works}
        groups = await self.observe([_reference(work) for work in unique.values()])
        outcomes = {
            mark: await self._bring_about(work, group)
            for (mark, work), group in zip(unique.items(), groups, strict=True)
        }
        return [outcomes[mark_of(_reference(work))] for work in works]

    async def _bring_about(self, work: Work, group: ObservedGroup | None) -> Outcome:
        """What comes of one that looks like `group` at the beginning."""
        entry = entry_of(work.wanted)
        walked = await walk(
            work.steps,
            remaining(work.wanted, group, work.steps),
            lambda step: self._take(step, entry),
            lambda: self._groups.find(entry.mark),
        )
        shown = group if walked.shown is None else observed_of(walked.shown)
        made = entry.id if Step.CREATE_GROUP in walked.taken else None
        return Outcome(shown, walked.done, walked.fault, made)

    async def _take(self, step: Step, entry: GroupEntry) -> None:
        match step:
            case Step.CHECK_PEOPLE:
                await self._check_people(entry)
            case Step.CREATE_GROUP:
                await self._groups.create(entry, _created(entry))
            case Step.SET_PROPERTIES:
                await self._groups.describe(entry)
            case (
                Step.ADD_OWNERS
                | Step.ADD_MEMBERS
                | Step.SET_LABEL
                | Step.CREATE_TEAM
                | Step.CREATE_CHANNELS
                | Step.ASSIGN_GUEST_RULES
            ):
                await self._groups.change(_PARTS[step](entry))
            case (
                Step.CREATE_MAILBOX
                | Step.SET_ADDRESS_FIELDS
                | Step.SET_PLACE
                | Step.SET_BOOKING
                | Step.SET_AUTOMATIC_REPLY
                | Step.SET_QUOTA
                | Step.SET_CAPACITY
                | Step.SET_VISIBILITY
                | Step.SET_ALIASES
                | Step.SET_PERMISSIONS
                | Step.SET_OWNERS
                | Step.MARK_ASSIGNMENT
                | Step.SET_GUEST_ACCESS
                | Step.SET_GUEST_DOMAINS
                | Step.SET_SHARING_CAPABILITY
            ):
                raise ValueError(f"{step} is no step of a group.")

    async def _check_people(self, entry: GroupEntry) -> None:
        try:
            await self._groups.check(entry)
        except Refused as refused:
            if refused.code == "userUnknown":
                raise


def _reference(work: Work) -> GroupReference:
    return GroupReference(work.wanted.tenant_id, work.wanted.extension, work.wanted.request_id)


def _created(entry: GroupEntry) -> GroupEntry:
    """A group as it is created: with its first owner, who is the caller, and those whom its rule names."""
    owners = entry.owners[:1]
    return replace(
        _bare(entry),
        owners=owners,
        members=[user for user in owners if user in set(entry.members)],
        membership_rule=entry.membership_rule,
    )


def _bare(entry: GroupEntry) -> GroupEntry:
    """The group without all that later steps bring."""
    values = {name: value for name, value in entry.values.items() if name not in GUEST_MARKS}
    return replace(entry, owners=(), members=(), membership_rule=None, label_id=None, channels=None, values=values)


def _with_owners(entry: GroupEntry) -> GroupEntry:
    members = [user for user in entry.owners if user in set(entry.members)]
    return replace(_bare(entry), owners=entry.owners, members=members)


# What of the group a step brings.
_PARTS: Mapping[Step, Callable[[GroupEntry], GroupEntry]] = {
    Step.ADD_OWNERS: _with_owners,
    Step.ADD_MEMBERS: lambda entry: replace(_bare(entry), members=entry.members),
    Step.SET_LABEL: lambda entry: replace(_bare(entry), label_id=entry.label_id),
    Step.CREATE_TEAM: lambda entry: replace(_bare(entry), channels=()),
    Step.CREATE_CHANNELS: lambda entry: replace(_bare(entry), channels=entry.channels),
    Step.ASSIGN_GUEST_RULES: lambda entry: replace(_bare(entry), values=entry.values),
}
