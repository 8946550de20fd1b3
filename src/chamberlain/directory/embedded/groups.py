"""Groups in the words of both sides: ours, and those of the embedded directory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha1
from uuid import UUID

from chamberlain.directory.embedded.errors import passing, refusal_of
from chamberlain.directory.embedded.steps import walk
from chamberlain.directory.port import Outcome, Work
from chamberlain.embedded.directory.entries import Ensured, Mark
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faults import FaultyGroups
from chamberlain.embedded.directory.groups import GroupEntry, Groups, GroupShown
from chamberlain.rules.groups import GroupReference, MemberShipType, ObservedGroup, WantedGroup
from chamberlain.rules.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.rules.lines import clean_line, clean_lines
from chamberlain.rules.plans import GUEST_MARKS, Step, remaining

# The member of the extension attribute that a group or mailbox is found by; bootstrap makes both stores with it.
KEY_MEMBER = "requestId"


def group_id_of(reference: GroupReference) -> GroupId:
    """The id that the group of a request gets when it is made: always the same, so that making it twice makes one."""
    return GroupId(request_object_id(reference.tenant_id, reference.extension, reference.request_id))


def request_object_id(tenant_id: TenantId, extension: str, request_id: RequestId) -> UUID:
    """The id of what a request makes.

    It begins as the request's id does, so that groups lie in the order of their requests; the rest is a digest of whose
    request it is (a version 8 UUID, RFC 9562).
    """
    own = request_id.bytes
    digest = sha1(own + f"{tenant_id}/{extension}".encode(), usedforsecurity=False).digest()
    marked = bytes((digest[6] & 0x0F | 0x80, digest[7], digest[8] & 0x3F | 0x80))
    return UUID(bytes=own[:6] + marked + digest[9:16])


def mark_of(reference: GroupReference) -> Mark:
    """How the directory finds a group again."""
    return Mark(reference.tenant_id, reference.extension, str(reference.request_id))


def entry_of(wanted: WantedGroup) -> GroupEntry:
    """A group as the directory is to have it."""
    reference = GroupReference(wanted.tenant_id, wanted.extension, wanted.request_id)
    is_public = wanted.member_ship_type is MemberShipType.PUBLIC
    is_dynamic = wanted.member_ship_type is MemberShipType.DYNAMIC
    return GroupEntry(
        mark=mark_of(reference),
        id=group_id_of(reference),
        display_name=wanted.display_name,
        mail_nickname=wanted.mail_nickname,
        mail=wanted.mail,
        description=wanted.description,
        visibility="Public" if is_public else "Private",
        membership_rule=wanted.membership_rule if is_dynamic else None,
        label_id=wanted.label_id,
        owners=wanted.owners,
        members=() if is_dynamic else wanted.members,
        channels=wanted.channels,
        values={**wanted.marks, KEY_MEMBER: str(wanted.request_id)},
    )


def observed_of(shown: GroupShown) -> ObservedGroup:
    """A group as the directory shows it."""
    return ObservedGroup(
        id=GroupId(shown.id),
        display_name=clean_line(shown.display_name),
        mail=clean_line(shown.mail),
        mail_nickname=clean_line(shown.mail_nickname),
        owners=frozenset(map(UserId, shown.owners)),
        members=frozenset(map(UserId, shown.members)),
        label_id=shown.label_id,
        channels=None if shown.channels is None else tuple(map(clean_line, shown.channels)),
        marks=shown.values,
        description=None if shown.description is None else clean_lines(shown.description),
        member_ship_type=_member_ship_type(shown),
    )


def _member_ship_type(shown: GroupShown) -> MemberShipType:
    if shown.is_dynamic:
        return MemberShipType.DYNAMIC
    return MemberShipType.PUBLIC if shown.visibility == "Public" else MemberShipType.PRIVATE


class WholeGroups:
    """Makes groups, each whole or not at all."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What the directory shows of each."""
        with passing():
            shown = await self._groups.observe([mark_of(one) for one in references])
        return [None if one is None else observed_of(one) for one in shown]

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Bring each about; the same group asked for twice in one batch is one group."""
        wanted = [entry_of(work.wanted) for work in works]
        unique = list({entry.mark: entry for entry in wanted}.values())
        with passing():
            ensured = await self._groups.ensure(unique)
            by_mark = {entry.mark: one for entry, one in zip(unique, ensured, strict=True)}
            described = {entry.mark: entry for work, entry in zip(works, wanted, strict=True) if _describes(work)}
            by_mark |= await self._describe([one for mark, one in described.items() if by_mark[mark].fault is None])
        return [_outcome(work, by_mark[entry.mark]) for work, entry in zip(works, wanted, strict=True)]

    async def _describe(self, entries: Sequence[GroupEntry]) -> Mapping[Mark, Ensured[GroupShown]]:
        """Have these called and described as they are wanted."""
        await self._groups.describe(entries)
        shown = await self._groups.observe([entry.mark for entry in entries])
        return {entry.mark: Ensured(one, None) for entry, one in zip(entries, shown, strict=True)}


def _describes(work: Work) -> bool:
    return Step.SET_PROPERTIES in work.steps


def _outcome(work: Work, ensured: Ensured[GroupShown]) -> Outcome:
    group = None if ensured.shown is None else observed_of(ensured.shown)
    if ensured.fault is None:
        return Outcome(group=group, done=work.steps, fault=None)
    done, fault = refusal_of(ensured.fault, work.steps)
    return Outcome(group=group, done=done, fault=fault)


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
