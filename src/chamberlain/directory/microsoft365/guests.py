# SPDX-License-Identifier: Apache-2.0
"""Observes groups with their guests, applies guest rules, removes and disables guests.

Marks are values of the schema extension. A Microsoft 365 group has one setting for guests, a security group none.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.core.text import clean_line
from chamberlain.directory import port
from chamberlain.directory.microsoft365.calls import groups as calls
from chamberlain.directory.microsoft365.calls import people as people_calls
from chamberlain.directory.microsoft365.calls import settings as setting_calls
from chamberlain.directory.microsoft365.changes import GraphChanges
from chamberlain.directory.microsoft365.guest_settings import GuestSettings
from chamberlain.directory.microsoft365.objects import Group, parse_guest, require_storable, summary_of
from chamberlain.directory.microsoft365.wire.faults import PermissionMissing, Refused, again_after_conflict, not_yet
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import (
    AddedBy,
    GuestRules,
    ObservedRules,
    ObservedSubject,
    SubjectReference,
    SubjectType,
    guests_who_stay,
    without,
)

# Groups that are changed at the same time.
_AT_ONCE: Final = 40
_TEMPLATE, _POLICY = "templateId", "policyId"
# Attempts to set a setting that concurrent calls set too. Ours.
_MOST_TRIES: Final = 5
# Seconds until refused activities are asked for again: an administrator may have granted the permission. Ours.
_ASK_AGAIN_AFTER: Final = 3600.0

Item = TypeVar("Item")
Ended = TypeVar("Ended", port.GuestOutcome, port.ActOutcome)


@dataclass(slots=True)
class _Run:
    """The steps for one group so far.

    `subject` is its state with the writes of this run.
    """

    work: port.GuestWork
    group: Group
    subject: ObservedSubject
    done: list[Step] = field(default_factory=list)
    stayed: tuple[port.Stayed, ...] = ()
    shortfalls: list[port.Shortfall] = field(default_factory=list)


class GraphGuests(port.Guests):
    """The guests of one tenant.

    `now` is a clock in seconds.
    """

    def __init__(self, graph: Graph, changes: GraphChanges, now: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._changes = changes
        self._now = now
        self._settings = GuestSettings(graph, now)
        # Activities are not asked for until then, None unless Graph has refused them.
        self._no_activities_until: float | None = None
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._parts: Mapping[Step, Callable[[_Run], Awaitable[None]]] = {
            Step.MARK_ASSIGNMENT: self._mark,
            Step.SET_GUEST_ACCESS: self._set_access,
            Step.SET_GUEST_DOMAINS: self._set_domains,
        }

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Observe each group; None if it does not exist."""
        found = await asyncio.gather(*map(self._observe, references))
        return [None if each is None else each[1] for each in found]

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        """Apply guest rules by their steps.

        Works for one group run in their order.
        """
        return await self._in_order(
            works, lambda work: work.wanted.id, self._ensure, lambda fault: port.GuestOutcome(None, (), fault)
        )

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        """Perform each action. Those on one group run in their order."""
        return await self._in_order(
            acts,
            lambda act: act.group_id if isinstance(act, port.RemoveGuest) else act.guest_id,
            self._act,
            lambda fault: port.ActOutcome(None, fault),
        )

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """Read the next page of a scan, or of later changes."""
        return await self._changes.changes(tenant_id, extension, cursor)

    async def _in_order(
        self,
        items: Sequence[Item],
        key: Callable[[Item], object],
        run: Callable[[Item], Awaitable[Ended]],
        failed: Callable[[TryAgain], Ended],
    ) -> Sequence[Ended]:
        """Run items concurrently, but those with one key in their order.

        After a temporary failure, later items with its key fail too: the order holds when they are tried again.
        """
        parts: dict[object, list[int]] = {}
        for number, item in enumerate(items):
            parts.setdefault(key(item), []).append(number)
        ended: dict[int, Ended] = {}

        async def run_part(numbers: Sequence[int]) -> None:
            fault: OutsideFault | None = None
            async with self._at_once:
                for number in numbers:
                    outcome = failed(fault) if isinstance(fault, TryAgain) else await run(items[number])
                    ended[number], fault = outcome, outcome.fault

        await asyncio.gather(*map(run_part, parts.values()))
        return [ended[number] for number in range(len(items))]

    async def _observe(
        self, reference: SubjectReference, *, has_activities: bool = True
    ) -> tuple[Group, ObservedSubject] | None:
        group = await calls.get_group(self._graph, reference.id, reference.extension)
        if group is None:
            return None
        try:
            owners, members, rules = await asyncio.gather(
                calls.list_owners(self._graph, group.id), calls.list_guests(self._graph, group.id), self._rules(group)
            )
        except Refused as refused:
            # Another replica has the group.
            raise not_yet() if refused.is_missing else refused from refused
        guest_owners = [each for each in owners if each.get("userType") == "Guest"]
        found = {each["id"]: each for each in (*members, *guest_owners)}
        seen: Sequence[datetime | None] = [None] * len(found)
        if has_activities:
            seen = await asyncio.gather(*[self._last_seen(parse_guest(each, None).id) for each in found.values()])
        guests = [parse_guest(each, at) for each, at in zip(found.values(), seen, strict=True)]
        summary = summary_of(group, reference.tenant_id)
        subject = ObservedSubject(
            tenant_id=summary.tenant_id,
            id=summary.id,
            type=SubjectType.GROUP,
            display_name=summary.display_name,
            mail=summary.mail,
            is_team=summary.is_team,
            member_ship_type=summary.member_ship_type,
            request_id=summary.request_id,
            template_id=summary.template_id,
            policy_id=summary.policy_id,
            rules=rules,
            site=None,
            guests=tuple(sorted(guests, key=lambda guest: guest.id)),
            owners=len(owners),
            guest_owners=frozenset(parse_guest(each, None).id for each in guest_owners),
        )
        return group, subject

    async def _rules(self, group: Group) -> ObservedRules | None:
        if not group.is_unified:
            return None
        settings = await setting_calls.list_guest_settings(self._graph, group.id)
        return _rules(is_allowed=setting_calls.allows_guests(settings[0])) if settings else None

    async def _last_seen(self, user_id: UserId) -> datetime | None:
        if self._no_activities_until is not None and self._now() < self._no_activities_until:
            return None
        try:
            return await people_calls.get_activity(self._graph, user_id)
        except PermissionMissing:
            # The permission is optional, and needs a premium licence.
            self._no_activities_until = self._now() + _ASK_AGAIN_AFTER
            return None

    async def _ensure(self, work: port.GuestWork) -> port.GuestOutcome:
        wanted = work.wanted
        run: _Run | None = None
        try:
            _require_possible(work)
            await self._graph.begin()
            group, subject = await self._present(SubjectReference(wanted.tenant_id, wanted.id, wanted.extension))
            run = _Run(work, group, subject)
            for step in work.steps:
                await self._parts[step](run)
                run.done.append(step)
        except OutsideFault as fault:
            return port.GuestOutcome(None, () if run is None else tuple(run.done), again_after_conflict(fault))
        return port.GuestOutcome(run.subject, work.steps, None, run.stayed, tuple(run.shortfalls))

    async def _present(
        self, reference: SubjectReference, *, has_activities: bool = True
    ) -> tuple[Group, ObservedSubject]:
        found = await self._observe(reference, has_activities=has_activities)
        if found is None:
            raise Rejected(
                "groupUnknown", f"The directory has no group {reference.id}. It may have been removed meanwhile."
            )
        return found

    async def _mark(self, run: _Run) -> None:
        wanted = run.work.wanted
        assigned = {_TEMPLATE: wanted.template_id, _POLICY: wanted.policy_id}
        texts = {name: None if each is None else str(each) for name, each in assigned.items()}
        # Also if the read group has these marks: a replica may hide the last assignment.
        await calls.update_group(self._graph, run.group.id, {wanted.extension: texts})
        run.subject = replace(run.subject, template_id=wanted.template_id, policy_id=wanted.policy_id)

    async def _set_access(self, run: _Run) -> None:
        rules = run.work.wanted.rules
        if run.group.is_unified:
            await self._set_setting(run, is_allowed=None if rules is None else rules.allowed)
        elif rules is not None and not rules.allowed:
            run.shortfalls.append(_left_out(Step.SET_GUEST_ACCESS, _SECURITY_GROUP))
        if rules is not None and rules.allowed and rules.added_by is not AddedBy.MEMBERS:
            run.shortfalls.append(_left_out(Step.SET_GUEST_ACCESS, _ADDED_BY))
        run.subject, run.stayed = await self._remove(run.group, run.subject, run.work.wanted.remove_guests)

    async def _set_domains(self, run: _Run) -> None:
        """Complete the step without a write.

        The adapter has no place for domains, and guests are removed by their findings.
        """
        if _names_domains(run.work.wanted.rules):
            run.shortfalls.append(port.Shortfall(Step.SET_GUEST_DOMAINS, Reason.build("guestDomainsNotEnforced")))

    async def _set_setting(self, run: _Run, *, is_allowed: bool | None) -> None:
        """Set whether guests may be added.

        None restores the default of the tenant.
        """
        for _ in range(_MOST_TRIES):
            if await self._settings.has_set(run.group.id, is_allowed=is_allowed):
                rules = None if is_allowed is None else _rules(is_allowed=is_allowed)
                run.subject = replace(run.subject, rules=rules)
                return
        # A replica still hides the setting that another process has written.
        raise not_yet()

    async def _remove(
        self, group: Group, subject: ObservedSubject, user_ids: Collection[UserId]
    ) -> tuple[ObservedSubject, tuple[port.Stayed, ...]]:
        """Remove guests as owners and as members.

        Others, and those who have to stay, are skipped.
        """
        going = {guest.id for guest in subject.guests if guest.id in user_ids}
        stay = dict(guests_who_stay(subject, going))
        removed_owners = {each for each in going if each in subject.guest_owners} - stay.keys()
        for each in sorted(removed_owners):
            await _ignore_missing(calls.remove_owner(self._graph, group.id, each))
        gone = going - stay.keys()
        if not group.is_dynamic:
            await asyncio.gather(
                *[_ignore_missing(calls.remove_member(self._graph, group.id, each)) for each in sorted(gone)]
            )
        left = without(subject, gone)
        if left is None:
            raise LookupError("A group stays a group.")
        left = replace(
            left,
            owners=subject.owners - len(removed_owners),
            guest_owners=subject.guest_owners - removed_owners,
        )
        return left, tuple(_stayed(subject, each, code) for each, code in stay.items())

    async def _act(self, act: port.GuestAct) -> port.ActOutcome:
        try:
            await self._graph.begin()
            match act:
                case port.RemoveGuest():
                    return port.ActOutcome(await self._remove_one(act), None)
                case port.DisableGuest():
                    return port.ActOutcome(await self._disable(act), None)
        except OutsideFault as fault:
            return port.ActOutcome(None, again_after_conflict(fault))

    async def _remove_one(self, act: port.RemoveGuest) -> port.Stayed | None:
        # A call for each guest of the group, for each removal, would take most of the budget.
        reference = SubjectReference(act.tenant_id, act.group_id, "")
        group, subject = await self._present(reference, has_activities=False)
        _, stayed = await self._remove(group, subject, (act.guest_id,))
        return next(iter(stayed), None)

    async def _disable(self, act: port.DisableGuest) -> port.Stayed | None:
        found = await people_calls.get_user(self._graph, act.guest_id)
        if found is None:
            return None
        if found.get("userType") != "Guest":
            sentence = f"The user {act.guest_id} is no longer a guest and was not disabled."
            return port.Stayed(act.guest_id, "notAGuest", sentence, clean_line(found.get("displayName") or ""))
        await people_calls.disable_user(self._graph, act.guest_id)
        # A blocked user stays signed in for up to an hour otherwise.
        await people_calls.revoke_sessions(self._graph, act.guest_id)
        return None


_SECURITY_GROUP: Final = (
    "Microsoft 365 has no rule for guests of a security group, so others can still add guests to it. Findings report "
    "them."
)
_ADDED_BY: Final = (
    "Microsoft 365 has no rule for one group that says who may add guests. All members may, within the settings of the "
    "tenant."
)


async def _ignore_missing(call: Awaitable[None]) -> None:
    """Remove a reference that a concurrent call may have removed."""
    try:
        await call
    except Refused as refused:
        if not refused.is_missing:
            raise


def _require_possible(work: port.GuestWork) -> None:
    """Refuse work before any write."""
    if Step.SET_SHARING_CAPABILITY in work.steps:
        raise Rejected("sitesNotSupported", "This adapter does not set the sharing of sites yet.")
    rules = work.wanted.rules
    require_storable(() if rules is None else (*rules.allowed_domains, *rules.blocked_domains))


def _names_domains(rules: GuestRules | None) -> bool:
    return rules is not None and bool(rules.allowed_domains or rules.blocked_domains)


def _rules(*, is_allowed: bool) -> ObservedRules:
    return ObservedRules(allowed=is_allowed, added_by=None, allowed_domains=None, blocked_domains=None, sharing=None)


def _left_out(step: Step, problem: str) -> port.Shortfall:
    return port.Shortfall(step, Reason.build("partNotSet", problem=problem))


def _stayed(subject: ObservedSubject, user_id: UserId, code: str) -> port.Stayed:
    [name] = [guest.display_name for guest in subject.guests if guest.id == user_id]
    return port.Stayed(user_id, code, Reason.build(code, guest=name).sentence, name)
