# SPDX-License-Identifier: Apache-2.0
"""Observes and provisions groups and teams.

A group is one entry, which one operation creates with all its attributes. A team has a space in Matrix as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import GroupId, RequestId, UserId
from chamberlain.core.membership_rules import RuleInvalid
from chamberlain.core.reasons import Reason
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.groups import GUEST_MARKS, GroupReference, MemberShipType, ObservedGroup, WantedGroup
from chamberlain.directory.opensuite.addresses import Addresses, address_taken
from chamberlain.directory.opensuite.attributes import DYNAMIC_GROUP_CLASS, GROUP_CLASS, MANAGED_GROUP_CLASS
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, escaped_name, normalized_dn
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, Layout, mark_values, marks_of
from chamberlain.directory.opensuite.ldap import Refused, Result
from chamberlain.directory.opensuite.members import Members, display_name_of
from chamberlain.directory.opensuite.rules import CannotFollow, member_url
from chamberlain.directory.opensuite.teams import Teams
from chamberlain.directory.opensuite.texts import rejected, require_storable
from chamberlain.directory.port import GroupOutcome, GroupWork, Outcome, Shortfall
from chamberlain.directory.steps import Step

# Groups that are provisioned at the same time: the server writes 835 a second with 8 of them (prototype).
_AT_ONCE: Final = 16
_SOON: Final = timedelta(seconds=1)
_GROUP: Final = "group"
_TAKEN: Final = frozenset({Result.ALREADY_EXISTS, Result.CONSTRAINT_VIOLATION})
_OF_TEAMS: Final = frozenset({Step.CREATE_TEAM, Step.CREATE_CHANNELS})
_OF_PEOPLE: Final = frozenset({Step.ADD_OWNERS, Step.ADD_MEMBERS})


@dataclass(slots=True)
class _Run:
    """The steps for one group so far.

    `people` are its wanted owners and members.
    """

    work: GroupWork
    people: Mapping[UserId, Entry] = field(default_factory=dict)
    entry: Entry | None = None
    done: list[Step] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    made: UUID | None = None

    @property
    def wanted(self) -> WantedGroup:
        return self.work.wanted


class Groups:
    """Groups and teams of one tenant."""

    def __init__(self, entries: Entries, layout: Layout, teams: Teams) -> None:
        self._entries = entries
        self._layout = layout
        self._names = layout.names
        self._teams = teams
        self._members = Members(entries, layout)
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._parts: Mapping[Step, Callable[[_Run], Awaitable[None]]] = {
            Step.CHECK_PEOPLE: self._nothing,
            Step.CREATE_GROUP: self._create,
            Step.ADD_OWNERS: self._add_owners,
            Step.ADD_MEMBERS: self._add_members,
            # Work with a label is refused before its first step.
            Step.SET_LABEL: self._nothing,
            Step.SET_PROPERTIES: self._describe,
            Step.CREATE_TEAM: self._create_team,
            Step.CREATE_CHANNELS: self._create_channels,
            Step.ASSIGN_GUEST_RULES: self._mark,
        }

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Observe each group; None if there is none with this mark."""
        found = await self._by_request([each.request_id for each in references])
        marked = [_marked(found.get(each.request_id, ()), each.extension, each.id) for each in references]
        entries = [each for each in marked if each is not None]
        members = await self._members.behind(
            [dn for each in entries for dn in (*each.all(self._names.owner), *each.all(self._names.member))]
        )
        channels = dict(zip([each.id for each in entries], await self._teams.channels(entries), strict=True))
        return [
            None if entry is None else self._observed(entry, reference.extension, members, channels[entry.id])
            for reference, entry in zip(references, marked, strict=True)
        ]

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        """Provision each group. Duplicates in a batch are provisioned once."""
        keys = [(work.wanted.request_id, work.wanted.extension, work.steps) for work in works]
        unique = dict(zip(keys, works, strict=True))
        outcomes = await asyncio.gather(*[self._ensure(work) for work in unique.values()])
        by_key = dict(zip(unique, outcomes, strict=True))
        return [by_key[key] for key in keys]

    async def _ensure(self, work: GroupWork) -> GroupOutcome:
        run = _Run(work)
        async with self._at_once:
            fault = await self._provision(run)
            observed = None
            if not isinstance(fault, TryAgain):
                try:
                    observed = await self._observe_one(run.wanted)
                except OutsideFault as error:
                    fault = fault or error
        if fault is None and observed is None:
            fault = TryAgain(_SOON, Reason.build("groupNotVisible"))
        done = tuple(run.done)
        if isinstance(fault, TryAgain):
            # The last step is complete only when the group is visible.
            done = done[: len(work.steps) - 1]
        return Outcome(observed, done, fault, None if fault is None else run.made, tuple(run.shortfalls))

    async def _provision(self, run: _Run) -> OutsideFault | None:
        """Run the steps in their order until a fault, and return it."""
        try:
            self._require_possible(run.wanted)
            run.people = await self._people(run.wanted)
            for step in run.work.steps:
                await self._parts[step](run)
                run.done.append(step)
            await self._admit(run)
        except Refused as refused:
            return rejected(refused)
        except OutsideFault as fault:
            return fault
        return None

    def _require_possible(self, wanted: WantedGroup) -> None:
        """Refuse work before any write."""
        if wanted.label_id is not None:
            raise Rejected("labelsNotSupported", "This directory has no labels. Leave the label out.")
        if wanted.channels is not None and not self._teams.are_possible:
            raise Rejected("teamsNotSupported", "This directory has no teams. Request a group.")
        texts = (wanted.display_name, wanted.mail, wanted.mail_nickname, wanted.description, *(wanted.channels or ()))
        require_storable((*texts, *wanted.marks.values()))

    async def _people(self, wanted: WantedGroup) -> Mapping[UserId, Entry]:
        """Read owners and members. Raises Rejected for an unknown one."""
        user_ids = tuple(dict.fromkeys((*wanted.owners, *wanted.members)))
        found = await self._members.named(user_ids)
        unknown = next((each for each in user_ids if each not in found), None)
        if unknown is not None:
            raise Rejected("userUnknown", f"The directory has no user {unknown}.")
        return found

    async def _nothing(self, run: _Run) -> None:
        """Complete a step that has no effect in this directory."""

    async def _create(self, run: _Run) -> None:
        """Add the entry, unless it exists.

        Raises Rejected for a taken address or name.
        """
        wanted = run.wanted
        run.entry = await self._find(wanted)
        if run.entry is not None:
            return
        values = self._values(run)
        dn = f"{self._names.nickname}={escaped_name(wanted.mail_nickname)},{self._layout.groups.base}"
        addresses = await Addresses.read(self._entries, self._layout, [wanted.mail])
        taken = addresses.claim([wanted.mail], None, wanted.request_id)
        if taken is None:
            try:
                run.made = (await self._entries.add(dn, values)).id
                return
            except Refused as refused:
                if refused.result not in _TAKEN:
                    raise
                taken = address_taken(wanted.mail)
        # A concurrent call may have added it meanwhile.
        run.entry = await self._find(wanted)
        if run.entry is None:
            raise taken

    def _values(self, run: _Run) -> Mapping[str, Sequence[str]]:
        wanted, names = run.wanted, self._names
        is_dynamic = wanted.member_ship_type is MemberShipType.DYNAMIC
        values: dict[str, Sequence[str]] = {
            "objectClass": [DYNAMIC_GROUP_CLASS if is_dynamic else GROUP_CLASS, MANAGED_GROUP_CLASS],
            names.nickname: [wanted.mail_nickname],
            names.display_name: [wanted.display_name],
            names.mail: [wanted.mail],
            names.address: [wanted.mail],
            names.owner: [run.people[each].dn for each in wanted.owners],
            names.type: [_GROUP],
            names.member_ship: [wanted.member_ship_type.name.lower()],
            names.description: [wanted.description] if wanted.description else [],
            REQUEST_ID: [str(wanted.request_id)],
            MARK: mark_values(wanted.marks, wanted.extension),
        }
        if is_dynamic:
            values[names.member_url] = [_member_url(wanted, self._layout)]
        else:
            values[names.member] = [each.dn for each in run.people.values()]
        return values

    async def _add_owners(self, run: _Run) -> None:
        await self._add(run, self._names.owner, run.wanted.owners)

    async def _add_members(self, run: _Run) -> None:
        if run.wanted.member_ship_type is not MemberShipType.DYNAMIC:
            await self._add(run, self._names.member, tuple(run.people))

    async def _add(self, run: _Run, attribute: str, user_ids: Sequence[UserId]) -> None:
        """Add missing users. Present ones stay."""
        if run.made is not None:
            # They were added with the entry.
            return
        entry = await self._present(run)
        present = set(map(normalized_dn, entry.all(attribute)))
        missing = [dn for each in user_ids if normalized_dn(dn := run.people[each].dn) not in present]
        await self._entries.add_values(entry.dn, attribute, missing)

    async def _mark(self, run: _Run) -> None:
        wanted = run.wanted
        assigned = {name: wanted.marks[name] for name in GUEST_MARKS if name in wanted.marks}

        def decide(current: Entry) -> Mapping[str, Sequence[str]]:
            return {MARK: mark_values({**marks_of(current, wanted.extension), **assigned}, wanted.extension)}

        await self._entries.update((await self._present(run)).dn, decide)

    async def _describe(self, run: _Run) -> None:
        wanted, names, entry = run.wanted, self._names, await self._present(run)
        values: dict[str, Sequence[str]] = {
            names.display_name: [wanted.display_name],
            names.description: [wanted.description] if wanted.description else [],
        }
        if MemberShipType.DYNAMIC not in (wanted.member_ship_type, member_ship_type_of(entry, self._layout)):
            values[names.member_ship] = [wanted.member_ship_type.name.lower()]
        await self._entries.set(entry.dn, values)
        await self._teams.describe(wanted, entry)

    async def _create_team(self, run: _Run) -> None:
        run.shortfalls += await self._teams.create(run.wanted, await self._read(run))

    async def _create_channels(self, run: _Run) -> None:
        await self._teams.create_channels(run.wanted, await self._read(run))

    async def _admit(self, run: _Run) -> None:
        """Let new people of a present team into its rooms.

        Steps of a team do that themselves.
        """
        steps = set(run.work.steps)
        if run.made is not None or steps & _OF_TEAMS or not steps & _OF_PEOPLE:
            return
        if self._teams.space_of(await self._present(run)) is not None:
            await self._teams.admit(run.wanted, await self._read(run))

    async def _present(self, run: _Run) -> Entry:
        """Return the entry of the group, as read in this run."""
        return run.entry or await self._read(run)

    async def _read(self, run: _Run) -> Entry:
        """Read the entry of the group.

        Raises Rejected if it does not exist.
        """
        run.entry = await self._find(run.wanted)
        if run.entry is None:
            raise Rejected("groupUnknown", "The directory has no group with the mark of this request.")
        return run.entry

    async def _find(self, wanted: WantedGroup) -> Entry | None:
        found = await self._by_request([wanted.request_id])
        return _marked(found.get(wanted.request_id, ()), wanted.extension)

    async def _observe_one(self, wanted: WantedGroup) -> ObservedGroup | None:
        [found] = await self.observe([GroupReference(wanted.tenant_id, wanted.extension, wanted.request_id)])
        return found

    async def _by_request(self, request_ids: Collection[RequestId]) -> Mapping[RequestId, Sequence[Entry]]:
        """Read the entries of requests, in the order of their ids.

        Only adopted ones can be several.
        """
        groups, values = self._layout.groups, [str(each) for each in request_ids]
        found = await self._entries.by_values(groups.base, REQUEST_ID, values, within=groups.filter)
        by_request: dict[RequestId, list[Entry]] = {}
        for each in sorted(found, key=lambda entry: entry.id):
            if (value := each.one(REQUEST_ID)) is not None:
                by_request.setdefault(RequestId(UUID(value)), []).append(each)
        return by_request

    def _observed(
        self, entry: Entry, extension: str, members: Mapping[str, Entry], channels: tuple[str, ...] | None
    ) -> ObservedGroup:
        names = self._names

        def users(attribute: str) -> frozenset[UserId]:
            found = [members.get(normalized_dn(each)) for each in entry.all(attribute)]
            return frozenset(UserId(each.id) for each in found if each is not None)

        description = entry.one(names.description)
        return ObservedGroup(
            id=GroupId(entry.id),
            display_name=clean_line(display_name_of(entry, self._layout)),
            mail=clean_line(entry.one(names.mail) or ""),
            mail_nickname=clean_line(entry.one(names.nickname) or ""),
            owners=users(names.owner),
            members=users(names.member),
            label_id=None,
            channels=None if channels is None else tuple(map(clean_line, channels)),
            marks=marks_of(entry, extension),
            description=None if description is None else clean_lines(description),
            member_ship_type=member_ship_type_of(entry, self._layout),
        )


def member_ship_type_of(entry: Entry, layout: Layout) -> MemberShipType:
    """Return the membership type of a group.

    A group of the operator has none, and is private.
    """
    if entry.is_of(DYNAMIC_GROUP_CLASS):
        return MemberShipType.DYNAMIC
    is_public = (entry.one(layout.names.member_ship) or "").lower() == "public"
    return MemberShipType.PUBLIC if is_public else MemberShipType.PRIVATE


def _member_url(wanted: WantedGroup, layout: Layout) -> str:
    try:
        return member_url(wanted.membership_rule or "", layout)
    except (RuleInvalid, CannotFollow) as error:
        raise Rejected("ruleInvalid", error.detail) from error


def _marked(candidates: Sequence[Entry], extension: str, group_id: UUID | None = None) -> Entry | None:
    """Return the entry whose marks are of this extension.

    Of several, the id selects one.
    """
    marked = [each for each in candidates if marks_of(each, extension)]
    return next((each for each in marked if each.id == group_id), marked[0] if marked else None)
