# SPDX-License-Identifier: Apache-2.0
"""The guest port, with and without injected faults."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory import port
from chamberlain.directory.embedded.mapping import port_errors, rejected
from chamberlain.directory.embedded.steps import run_steps
from chamberlain.directory.embedded.subjects import entry_of, name_of, observed_of, removal_of, stayed_in, summary_of
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, remaining_of_subject
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.errors import CursorUnknown, Refused
from chamberlain.embedded.directory.faults import FaultyGuestRules
from chamberlain.embedded.directory.guests import SubjectShown

_Kept = TypeVar("_Kept", guests.Guests, FaultyGuestRules)


class _Guests(port.Guests, Generic[_Kept]):
    def __init__(self, kept: _Kept, changes: Changes) -> None:
        self._kept: _Kept = kept
        self._changes = changes

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Read the state of each group or site, if it is visible."""
        with port_errors():
            shown = await self._kept.observe([name_of(one) for one in references])
        return [None if one is None else observed_of(one) for one in shown]

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """Read the next page of groups and sites, or of their changes."""
        try:
            with port_errors():
                shown = await self._changes.read(tenant_id, extension, cursor, most=port.MOST_CHANGES)
        except CursorUnknown as error:
            raise Rejected("cursorUnknown", str(error)) from error
        return port.SubjectChanges(
            subjects=tuple(map(summary_of, shown.subjects)),
            removed=tuple(map(GroupId, shown.removed)),
            cursor=shown.cursor,
            is_complete=shown.is_complete,
        )


class EmbeddedGuests(_Guests[guests.Guests]):
    """Sets the guest rules of each subject entirely or not at all."""

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        """Set the guest rules of each.

        Several works for one group run one after the other.
        """
        outcomes: dict[int, port.GuestOutcome] = {}
        for numbers in _rounds(works):
            with port_errors():
                ensured = await self._kept.ensure(
                    [entry_of(works[number].wanted, works[number].steps) for number in numbers]
                )
            for number, one in zip(numbers, ensured, strict=True):
                outcomes[number] = _outcome(works[number], one.shown, one.fault)
        return [outcomes[number] for number in range(len(works))]

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        """Remove guests, in one statement for each group, and disable accounts."""
        outcomes = {
            **await self._remove([act for act in acts if isinstance(act, port.RemoveGuest)]),
            **await self._disable([act for act in acts if isinstance(act, port.DisableGuest)]),
        }
        return [outcomes[act] for act in acts]

    async def _remove(self, acts: Sequence[port.RemoveGuest]) -> Mapping[port.GuestAct, port.ActOutcome]:
        removed: dict[tuple[TenantId, GroupId], list[UserId]] = {}
        for act in acts:
            removed.setdefault((act.tenant_id, act.group_id), []).append(act.guest_id)
        with port_errors():
            ensured = await self._kept.ensure([removal_of(*group, users) for group, users in removed.items()])
        results = dict(zip(removed, ensured, strict=True))
        outcomes: dict[port.GuestAct, port.ActOutcome] = {}
        for act in acts:
            result = results[act.tenant_id, act.group_id]
            if result.fault is None:
                outcomes[act] = _removed(act, result.shown)
            else:
                outcomes[act] = port.ActOutcome(None, rejected(result.fault))
        return outcomes

    async def _disable(self, acts: Sequence[port.DisableGuest]) -> Mapping[port.GuestAct, port.ActOutcome]:
        with port_errors():
            refusals = await self._kept.disable([(act.tenant_id, act.guest_id) for act in acts])
        return {act: _disabled(act, refused) for act, refused in zip(acts, refusals, strict=True)}


class FaultyGuests(_Guests[FaultyGuestRules]):
    """Sets guest rules step by step.

    A fault stops the steps of one group; the next run continues there.
    """

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        """Run the steps of each work in their order until a fault.

        A second work for the same group gets the temporary fault of the first, so that both can finish.
        """
        waits: dict[object, TryAgain] = {}
        outcomes = []
        for work in works:
            name = name_of(work.wanted)
            outcome = port.GuestOutcome(None, (), waits[name]) if name in waits else await self._provision(work)
            if isinstance(outcome.fault, TryAgain):
                waits[name] = outcome.fault
            outcomes.append(outcome)
        return outcomes

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        """Run each act in a separate call; each has its own fault."""
        return [await self._act(act) for act in acts]

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """Read the next page of groups and sites, or of their changes."""
        with port_errors():
            self._kept.answer()
        return await super().changes(tenant_id, extension, cursor)

    async def _act(self, act: port.GuestAct) -> port.ActOutcome:
        try:
            with port_errors():
                match act:
                    case port.RemoveGuest():
                        return _removed(
                            act, await self._kept.change(removal_of(act.tenant_id, act.group_id, (act.guest_id,)))
                        )
                    case port.DisableGuest():
                        return _disabled(act, await self._kept.disable(act.tenant_id, act.guest_id))
        except TryAgain as fault:
            return port.ActOutcome(None, fault)
        except Refused as refused:
            return port.ActOutcome(None, rejected(refused))

    async def _provision(self, work: port.GuestWork) -> port.GuestOutcome:
        name = name_of(work.wanted)
        with port_errors():
            [shown] = await self._kept.observe([name])
        before = None if shown is None else observed_of(shown)
        stayed: list[port.Stayed] = []

        async def run(step: Step) -> None:
            shown = await self._kept.change(entry_of(work.wanted, (step,)))
            if step is Step.SET_GUEST_ACCESS:
                stayed.extend(stayed_in(shown, work.wanted.remove_guests))

        remaining = remaining_of_subject(work.wanted, before, work.steps)
        result = await run_steps(work.steps, remaining, run, lambda: self._kept.find(name))
        observed = before if result.shown is None else observed_of(result.shown)
        return port.GuestOutcome(observed, result.done, result.fault, tuple(stayed))


def _rounds(works: Sequence[port.GuestWork]) -> Iterator[Sequence[int]]:
    """Split the indexes of works into rounds with unique groups.

    Works for one group keep their order.
    """
    left = list(range(len(works)))
    while left:
        first = {name_of(works[number].wanted): number for number in reversed(left)}
        numbers = sorted(first.values())
        yield numbers
        left = [number for number in left if number not in set(numbers)]


def _outcome(work: port.GuestWork, shown: SubjectShown | None, fault: Refused | None) -> port.GuestOutcome:
    subject = None if shown is None else observed_of(shown)
    if fault is not None:
        return port.GuestOutcome(subject, (), rejected(fault))
    stayed = stayed_in(shown, work.wanted.remove_guests) if Step.SET_GUEST_ACCESS in work.steps else ()
    return port.GuestOutcome(subject, work.steps, None, stayed)


def _removed(act: port.RemoveGuest, shown: SubjectShown | None) -> port.ActOutcome:
    return port.ActOutcome(next(iter(stayed_in(shown, (act.guest_id,))), None), None)


def _disabled(act: port.DisableGuest, refused: Refused | None) -> port.ActOutcome:
    return port.ActOutcome(None if refused is None else port.Stayed(act.guest_id, refused.code, refused.detail), None)
