# SPDX-License-Identifier: Apache-2.0
"""Observes and provisions groups and teams.

A group is created by an upsert with the request id in its unique name, so that the directory guarantees one group for
each request. An acknowledged write completes its step: replicas lag behind, and are not read again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import UserId
from chamberlain.core.membership_rules import RuleInvalid, read_rule
from chamberlain.core.reasons import Reason
from chamberlain.directory.groups import GUEST_MARKS, GroupReference, MemberShipType, ObservedGroup, WantedGroup
from chamberlain.directory.microsoft365.calls import groups as calls
from chamberlain.directory.microsoft365.calls import teams as team_calls
from chamberlain.directory.microsoft365.creation import Creation, visibility
from chamberlain.directory.microsoft365.members import Members
from chamberlain.directory.microsoft365.objects import (
    Group,
    channel_names,
    require_storable,
    user_ids,
)
from chamberlain.directory.microsoft365.wire.faults import Refused, again_after_conflict, not_yet
from chamberlain.directory.port import GroupOutcome, GroupWork, Outcome, Shortfall
from chamberlain.directory.steps import Step

# Groups that are provisioned at the same time: two batches of their calls.
_AT_ONCE: Final = 40


@dataclass(slots=True)
class _Run:
    """The steps for one group so far.

    `channels` is None for a group that is no team.
    """

    work: GroupWork
    group: Group | None = None
    owners: set[UserId] = field(default_factory=set)
    members: set[UserId] = field(default_factory=set)
    channels: list[str] | None = None
    done: list[Step] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)

    @property
    def wanted(self) -> WantedGroup:
        return self.work.wanted

    @property
    def present(self) -> Group:
        """Return the group of a step after the first one."""
        if self.group is None:
            raise LookupError("A step has a group.")
        return self.group

    @property
    def people(self) -> tuple[UserId, ...]:
        """Return the wanted members. Owners are members, except in a dynamic group."""
        wanted = self.wanted
        if wanted.member_ship_type is MemberShipType.DYNAMIC:
            return ()
        return tuple(dict.fromkeys((*wanted.owners, *wanted.members)))

    @property
    def observed(self) -> ObservedGroup | None:
        """Return the group as read, with the writes of this run."""
        return None if self.group is None else _observed(self.group, self.owners, self.members, self.channels)


class Groups:
    """Groups and teams of one tenant."""

    def __init__(self, creation: Creation) -> None:
        self._graph = graph = creation.graph
        self._creation = creation
        self._members = Members(graph)
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
        return await asyncio.gather(*map(self._observe, references))

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        """Provision each group. Duplicates in a batch are provisioned once."""
        keys = [(work.wanted.request_id, work.wanted.extension, work.steps) for work in works]
        unique = dict(zip(keys, works, strict=True))
        outcomes = await asyncio.gather(*map(self._ensure, unique.values()))
        by_key = dict(zip(unique, outcomes, strict=True))
        return [by_key[key] for key in keys]

    async def _observe(self, reference: GroupReference) -> ObservedGroup | None:
        group = await self._find(reference)
        if group is None:
            return None
        run = await self._read(group)
        return _observed(group, *run)

    async def _find(self, reference: GroupReference) -> Group | None:
        """Find the group of a request.

        By id, by unique name, and then in the slower index of marks.
        """
        if reference.id is not None:
            group = await calls.get_group(self._graph, reference.id, reference.extension)
            if _has_mark(group, reference):
                return group
        group = await calls.get_named_group(self._graph, reference.request_id, reference.extension)
        if _has_mark(group, reference):
            return group
        found = await calls.find_marked_groups(self._graph, reference.request_id, reference.extension)
        return found[0] if found else None

    async def _read(self, group: Group) -> tuple[frozenset[UserId], frozenset[UserId], list[str] | None]:
        """Read owners, members, and the channels of a team."""

        async def channels() -> list[str] | None:
            return channel_names(await team_calls.list_channels(self._graph, group.id)) if group.is_team else None

        try:
            owners, members, names = await asyncio.gather(
                calls.list_owners(self._graph, group.id), calls.list_members(self._graph, group.id), channels()
            )
        except Refused as refused:
            # Another replica has the group.
            raise not_yet() if refused.is_missing else refused from refused
        return user_ids(owners), user_ids(members), names

    async def _ensure(self, work: GroupWork) -> GroupOutcome:
        run = _Run(work)
        async with self._at_once:
            fault = await self._provision(run)
        made = None if fault is None or run.group is None else run.group.id
        observed = None if isinstance(fault, TryAgain) else run.observed
        return Outcome(observed, tuple(run.done), fault, made, tuple(run.shortfalls))

    async def _provision(self, run: _Run) -> OutsideFault | None:
        """Run the steps in their order until a fault, and return it."""
        try:
            _require_possible(run.wanted)
            await self._graph.begin()
            await self._begin(run)
            for step in run.work.steps:
                await self._parts[step](run)
                run.done.append(step)
        except OutsideFault as fault:
            return again_after_conflict(fault)
        return None

    async def _begin(self, run: _Run) -> None:
        """Read the group if it exists.

        Only the step that creates it does without.
        """
        wanted = run.wanted
        reference = GroupReference(wanted.tenant_id, wanted.extension, wanted.request_id)
        if Step.CREATE_GROUP not in run.work.steps:
            group = await self._find(reference)
            if group is None:
                # It was created before. A deleted group ends at the deadline of the step.
                raise not_yet()
        else:
            # An upsert of an existing group would overwrite its names.
            group = await self._creation.find(wanted)
            if group is not None and not _has_mark(group, reference):
                raise Rejected("alreadyManaged", f"The group {group.id} no longer has the mark of this request.")
        if group is not None:
            await self._adopt(run, group)

    async def _adopt(self, run: _Run, group: Group) -> None:
        """Continue with an existing group."""
        owners, members, channels = await self._read(group)
        run.group, run.owners, run.members, run.channels = group, set(owners), set(members), channels

    async def _nothing(self, run: _Run) -> None:
        """Complete a step that has no effect in this directory."""

    async def _create(self, run: _Run) -> None:
        """Create the group, unless it exists.

        Raises Rejected for a taken address or an unknown user.
        """
        wanted = run.wanted
        if run.group is None:
            created = await self._creation.create(wanted, run.people)
            if created is None:
                # An earlier attempt has created it, and its answer was lost.
                found = await self._creation.find(wanted)
                if found is None:
                    raise not_yet()
                await self._adopt(run, found)
            else:
                run.group, run.owners, run.members = created.group, set(created.owners), set(created.members)
        if (mail := run.present.mail) is not None and mail.lower() != wanted.mail.lower():
            reason = Reason.build("addressDomainNotSet", domain=wanted.mail.rpartition("@")[2], address=mail)
            run.shortfalls.append(Shortfall(Step.CREATE_GROUP, reason))

    async def _add_owners(self, run: _Run) -> None:
        missing = [each for each in run.wanted.owners if each not in run.owners]
        await self._members.add_owners(run.present, missing)
        run.owners.update(missing)
        if run.present.is_team:
            # Teams adds an owner as a member too.
            run.members.update(missing)

    async def _add_members(self, run: _Run) -> None:
        missing = [each for each in run.people if each not in run.members]
        await self._members.add_members(run.present, missing)
        run.members.update(missing)

    async def _mark(self, run: _Run) -> None:
        wanted, group = run.wanted, run.present
        assigned = {name: wanted.marks[name] for name in GUEST_MARKS if name in wanted.marks}
        if any(group.marks.get(name) != value for name, value in assigned.items()):
            await calls.update_group(self._graph, group.id, {wanted.extension: assigned})
            run.group = replace(group, marks={**group.marks, **assigned})

    async def _describe(self, run: _Run) -> None:
        wanted, group = run.wanted, run.present
        body: dict[str, Any] = {"displayName": wanted.display_name, "description": wanted.description or None}
        become = replace(group, display_name=wanted.display_name, description=wanted.description or None)
        if MemberShipType.DYNAMIC not in (wanted.member_ship_type, group.member_ship_type):
            body["visibility"] = visibility(wanted)
            become = replace(become, member_ship_type=wanted.member_ship_type)
        await calls.update_group(self._graph, group.id, body)
        run.group = become

    async def _create_team(self, run: _Run) -> None:
        """Make the group a team.

        Owners and members are there, and the new team inherits them.
        """
        if run.channels is not None:
            return
        try:
            await team_calls.create_team(self._graph, run.present.id)
        except Refused as refused:
            # Teams does not have a new group, or its owners, for minutes (team-put-teams.md).
            if refused.is_missing or refused.says("noOwnerYet"):
                raise not_yet() from refused
            if not refused.is_conflict:
                raise
            run.channels = await self._channels(run)
        else:
            run.channels = ["General"]
        run.group = replace(run.present, is_team=True)

    async def _create_channels(self, run: _Run) -> None:
        """Create the missing channels in their order."""
        if run.channels is None:
            run.channels = await self._channels(run)
        for name in run.wanted.channels or ():
            if name.casefold() in map(str.casefold, run.channels):
                continue
            try:
                await team_calls.create_channel(self._graph, run.present.id, name)
            except Refused as refused:
                if refused.is_missing:
                    raise not_yet() from refused
                if refused.graph_code != "NameAlreadyExists" and not refused.says("nameTaken"):
                    raise
                # A concurrent or earlier attempt has created it, or a deleted channel reserves the name.
                run.channels = await self._channels(run)
                if name.casefold() not in map(str.casefold, run.channels):
                    raise not_yet(Reason.build("partNotSet", problem=_reserved(name))) from refused
            else:
                run.channels.append(name)

    async def _channels(self, run: _Run) -> list[str]:
        try:
            return channel_names(await team_calls.list_channels(self._graph, run.present.id))
        except Refused as refused:
            raise not_yet() if refused.is_missing else refused from refused


def _reserved(name: str) -> str:
    return (
        f"Microsoft 365 does not create the channel {name}. If a channel of this name was deleted, its name is "
        "reserved for 30 days."
    )


def _require_possible(wanted: WantedGroup) -> None:
    """Refuse work before any write."""
    if wanted.label_id is not None:
        raise Rejected("labelsNotSupported", "This directory sets no labels. Leave the label out.")
    texts = (wanted.display_name, wanted.mail, wanted.mail_nickname, wanted.description, *(wanted.channels or ()))
    require_storable((*texts, *wanted.marks.values()))
    if wanted.member_ship_type is MemberShipType.DYNAMIC:
        try:
            read_rule(wanted.membership_rule or "")
        except RuleInvalid as error:
            raise Rejected("ruleInvalid", error.detail) from error


def _has_mark(group: Group | None, reference: GroupReference) -> bool:
    return group is not None and group.marks.get("requestId", "").lower() == str(reference.request_id)


def _observed(
    group: Group, owners: Collection[UserId], members: Collection[UserId], channels: Sequence[str] | None
) -> ObservedGroup:
    return ObservedGroup(
        id=group.id,
        display_name=group.display_name,
        mail=group.mail or "",
        mail_nickname=group.mail_nickname,
        owners=frozenset(owners),
        members=frozenset(members),
        label_id=None,
        channels=None if channels is None else tuple(channels),
        marks=group.marks,
        description=group.description,
        member_ship_type=group.member_ship_type,
    )
