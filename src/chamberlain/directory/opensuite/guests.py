# SPDX-License-Identifier: Apache-2.0
"""Observes groups with their guests, applies guest rules, removes and disables guests.

There are no sites. The rules of a group are in its entry, and in the rooms of its team.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar

from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.text import clean_line
from chamberlain.directory import port
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.opensuite.attributes import MANAGED_GROUP_CLASS
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, Values, normalized_dn
from chamberlain.directory.opensuite.groups import member_ship_type_of
from chamberlain.directory.opensuite.guest_settings import (
    names_domains,
    stored_rules,
    with_access,
    with_domains,
    written_rules,
)
from chamberlain.directory.opensuite.layout import MARK, Layout, has_other_marks, mark_values, marks_of
from chamberlain.directory.opensuite.ldap import Refused, Result
from chamberlain.directory.opensuite.members import Members, display_name_of, last_success_of, local_part_of
from chamberlain.directory.opensuite.room_state import access_of
from chamberlain.directory.opensuite.rooms import Rooms
from chamberlain.directory.opensuite.subjects import leaving_guests, observed_subject, stayed_guests
from chamberlain.directory.opensuite.teams import Teams
from chamberlain.directory.opensuite.texts import rejected, require_storable
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import GuestRules, ObservedSubject, SubjectReference

# Groups that are changed at the same time.
_AT_ONCE: Final = 16
# Activities that are read at the same time: each is a call of the homeserver.
_ACTIVITIES_AT_ONCE: Final = 8
_TEMPLATE, _POLICY = "templateId", "policyId"

Item = TypeVar("Item")
Made = TypeVar("Made")


class SubjectScan(Protocol):
    """Scans groups, and follows their changes."""

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """Read a page, as `Guests.changes` does."""
        ...


@dataclass(slots=True)
class _Run:
    """The steps for one group so far. `shown` is its entry."""

    work: port.GuestWork
    shown: Entry
    done: list[Step] = field(default_factory=list)
    shortfalls: list[port.Shortfall] = field(default_factory=list)


class SuiteGuests(port.Guests):
    """The guests of one tenant.

    `rooms` is None in a suite without Matrix.
    """

    def __init__(self, entries: Entries, layout: Layout, teams: Teams, rooms: Rooms | None, scan: SubjectScan) -> None:
        self._entries = entries
        self._layout = layout
        self._names = layout.names
        self._teams = teams
        self._rooms = rooms
        self._scan = scan
        self._members = Members(entries, layout)
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._activities = asyncio.Semaphore(_ACTIVITIES_AT_ONCE)
        self._parts: Mapping[Step, Callable[[_Run], Awaitable[None]]] = {
            Step.MARK_ASSIGNMENT: self._mark,
            Step.SET_GUEST_ACCESS: self._set_access,
            Step.SET_GUEST_DOMAINS: self._set_domains,
        }

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Observe each group; None if it does not exist."""
        found = await self._groups([each.id for each in references])
        teams = dict(zip(found, await asyncio.gather(*map(self._teams.read, found.values())), strict=True))
        # Owners may invite guests in Matrix alone.
        people = [local_part for each in teams.values() if each is not None for local_part in each.people]
        dns = [dn for each in found.values() for dn in (*each.all(self._names.owner), *each.all(self._names.member))]
        guests = {**await self._members.guests_behind(dns), **await self._members.guests_called(people)}
        seen = await self._last_seen(guests)
        return [
            None
            if (entry := found.get(each.id)) is None
            else observed_subject(entry, each, self._layout, team=teams[each.id], guests=guests, seen=seen)
            for each in references
        ]

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        """Apply guest rules by their steps.

        Works for one group run in their order.
        """
        return await self._in_order(works, lambda work: work.wanted.id, self._ensure)

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        """Perform each action. Those on one group run in their order."""
        return await self._in_order(
            acts, lambda act: act.group_id if isinstance(act, port.RemoveGuest) else act.guest_id, self._act
        )

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """Read the next page of a scan, or of later changes."""
        return await self._scan.changes(tenant_id, extension, cursor)

    async def _in_order(
        self, items: Sequence[Item], key: Callable[[Item], object], run: Callable[[Item], Awaitable[Made]]
    ) -> Sequence[Made]:
        """Run items concurrently, but those with one key in their order."""
        parts: dict[object, list[int]] = {}
        for number, item in enumerate(items):
            parts.setdefault(key(item), []).append(number)

        async def run_part(numbers: Sequence[int]) -> Sequence[tuple[int, Made]]:
            async with self._at_once:
                return [(number, await run(items[number])) for number in numbers]

        results = await asyncio.gather(*map(run_part, parts.values()))
        by_number = dict(each for part in results for each in part)
        return [by_number[number] for number in range(len(items))]

    async def _ensure(self, work: port.GuestWork) -> port.GuestOutcome:
        wanted = work.wanted
        run: _Run | None = None
        try:
            _require_possible(work)
            run = _Run(work, await self._group(wanted.id))
            for step in work.steps:
                await self._parts[step](run)
                run.done.append(step)
            [subject] = await self.observe([SubjectReference(wanted.tenant_id, wanted.id, wanted.extension)])
        except OutsideFault as fault:
            return port.GuestOutcome(None, () if run is None else tuple(run.done), _port_fault(fault))
        gone = wanted.remove_guests if Step.SET_GUEST_ACCESS in work.steps else ()
        return port.GuestOutcome(subject, work.steps, None, stayed_guests(subject, gone), tuple(run.shortfalls))

    async def _act(self, act: port.GuestAct) -> port.ActOutcome:
        try:
            match act:
                case port.RemoveGuest():
                    return port.ActOutcome(await self._remove_one(act), None)
                case port.DisableGuest():
                    return port.ActOutcome(await self._disable(act), None)
        except OutsideFault as fault:
            return port.ActOutcome(None, _port_fault(fault))

    async def _mark(self, run: _Run) -> None:
        wanted = run.work.wanted
        assigned = {_TEMPLATE: wanted.template_id, _POLICY: wanted.policy_id}

        def decide(entry: Entry) -> Values:
            kept = {name: each for name, each in marks_of(entry, wanted.extension).items() if name not in assigned}
            marks = {**kept, **{name: str(each) for name, each in assigned.items() if each is not None}}
            if has_other_marks(entry, wanted.extension):
                raise Rejected("alreadyManaged", "Another installation manages this group.")
            return {**_managed(entry), MARK: mark_values(marks, wanted.extension)} if marks else {MARK: []}

        await self._entries.update(run.shown.dn, decide)

    async def _set_access(self, run: _Run) -> None:
        wanted = run.work.wanted
        rules = await self._set_rules(run, with_access)
        await self._remove(run.shown, wanted.remove_guests)
        await self._teams.set_access(run.shown, access_of(rules))

    async def _set_domains(self, run: _Run) -> None:
        rules = await self._set_rules(run, with_domains)
        await self._teams.set_access(run.shown, access_of(rules))
        if names_domains(rules):
            # Servers are enforced for guests with an account elsewhere only.
            run.shortfalls.append(port.Shortfall(Step.SET_GUEST_DOMAINS, Reason.build("guestDomainsNotEnforced")))

    async def _set_rules(
        self, run: _Run, merge: Callable[[GuestRules | None, GuestRules | None], GuestRules | None]
    ) -> GuestRules | None:
        """Set a part of the rules of a group, and return all."""
        attribute = self._names.guest_rules
        becomes: list[GuestRules | None] = []

        def decide(entry: Entry) -> Values:
            becomes.append(merge(stored_rules(entry.one(attribute)), run.work.wanted.rules))
            values = written_rules(becomes[-1])
            return {**_managed(entry), attribute: values} if values else {attribute: []}

        await self._entries.update(run.shown.dn, decide)
        return becomes[-1]

    async def _remove(self, group: Entry, user_ids: Collection[UserId]) -> None:
        """Remove guests as owners and members.

        Other users, and those who have to stay, are skipped.
        """
        guests = await self._members.guests_named(user_ids) if user_ids else {}
        by_name = {normalized_dn(each.dn): each for each in guests.values()}
        if not by_name:
            return
        outside: list[Entry] = []

        def decide(entry: Entry) -> Values:
            owner, member = self._names.owner, self._names.member
            going = {normalized_dn(each.dn) for each in leaving_guests(entry, by_name, self._layout)}
            owners = [each for each in entry.all(owner) if normalized_dn(each) not in going]
            if member_ship_type_of(entry, self._layout) is MemberShipType.DYNAMIC:
                left, wanted = (*owners, *entry.all(member)), {owner: owners}
            else:
                # A group has a member at least (groupOfNames), and owners are members.
                members = [each for each in entry.all(member) if normalized_dn(each) not in going] or owners
                left, wanted = (*owners, *members), {owner: owners, member: members}
            staying = set(map(normalized_dn, left))
            outside[:] = [guest for name, guest in by_name.items() if name not in staying]
            return wanted

        await self._entries.update(group.dn, decide)
        # Also those whom an interrupted attempt has removed from the entry alone.
        await self._teams.remove(group, outside)

    async def _remove_one(self, act: port.RemoveGuest) -> port.Stayed | None:
        await self._remove(await self._group(act.group_id), (act.guest_id,))
        [subject] = await self.observe([SubjectReference(act.tenant_id, act.group_id, "")])
        return next(iter(stayed_guests(subject, (act.guest_id,))), None)

    async def _disable(self, act: port.DisableGuest) -> port.Stayed | None:
        found = (await self._members.named((act.guest_id,))).get(act.guest_id)
        if found is None:
            return None
        if not await self._members.guests_named((act.guest_id,)):
            sentence = f"The user {act.guest_id} is no longer a guest and was not disabled."
            return port.Stayed(act.guest_id, "notAGuest", sentence)
        attribute, blocked = self._layout.disabled
        await self._entries.set(found.dn, {attribute: [blocked]})
        local_part = local_part_of(found, self._layout)
        if self._rooms is None or local_part is None or await self._rooms.deactivate(local_part):
            return None
        name = clean_line(display_name_of(found, self._layout))
        sentence = (
            f"{name} cannot sign in any more, but stays signed in to Matrix. Deactivate the user there, or name an "
            "administrator's token of Matrix in the settings of the connection."
        )
        return port.Stayed(act.guest_id, "guestNotRemoved", sentence, name)

    async def _group(self, group_id: GroupId) -> Entry:
        found = (await self._groups([group_id])).get(group_id)
        if found is None:
            raise _unknown(group_id)
        return found

    async def _groups(self, group_ids: Collection[GroupId]) -> Mapping[GroupId, Entry]:
        groups = self._layout.groups
        found = await self._entries.by_ids(groups.base, group_ids, within=groups.filter)
        return {GroupId(each): entry for each, entry in found.items()}

    async def _last_seen(self, guests: Mapping[str, Entry]) -> Mapping[str, datetime | None]:
        """Return the last activity of guests in Matrix or the directory."""

        async def read(entry: Entry) -> datetime | None:
            local_part = local_part_of(entry, self._layout)
            times = [last_success_of(entry)]
            if self._rooms is not None and local_part is not None:
                async with self._activities:
                    times.append(await self._rooms.last_seen(local_part))
            return max((each for each in times if each is not None), default=None)

        return dict(zip(guests, await asyncio.gather(*map(read, guests.values())), strict=True))


def _require_possible(work: port.GuestWork) -> None:
    """Refuse work before any write."""
    if Step.SET_SHARING_CAPABILITY in work.steps:
        raise Rejected("sitesNotSupported", "This directory has no sites.")
    rules = work.wanted.rules
    require_storable(() if rules is None else (*rules.allowed_domains, *rules.blocked_domains))


def _managed(entry: Entry) -> Values:
    """Return the object classes of a group with attributes of Chamberlain."""
    is_managed = entry.is_of(MANAGED_GROUP_CLASS)
    return {} if is_managed else {"objectClass": [*entry.all("objectClass"), MANAGED_GROUP_CLASS]}


def _unknown(group_id: GroupId) -> Rejected:
    return Rejected("groupUnknown", f"The directory has no group {group_id}. It may have been removed meanwhile.")


def _port_fault(fault: OutsideFault) -> OutsideFault:
    """Give a refusal the code of the ports."""
    if isinstance(fault, Refused):
        is_gone = fault.result == Result.NO_SUCH_OBJECT
        return Rejected("groupUnknown", "The group was removed meanwhile.") if is_gone else rejected(fault)
    return fault
