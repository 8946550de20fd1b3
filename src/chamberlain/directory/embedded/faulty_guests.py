"""Guest rules in the embedded directory with faults on purpose: each step is a call, and may have to wait."""

from collections.abc import Sequence

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.directory.embedded.guest_entries import (
    entry_of_steps,
    name_of,
    observed_of,
    removal_of,
    stayed_after,
    stayed_of,
)
from chamberlain.directory.embedded.guests import read_changes
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.embedded.walking import walk
from chamberlain.directory.port import (
    ActOutcome,
    DisableGuest,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    RemoveGuest,
    Stayed,
    SubjectChanges,
)
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, remaining_of_subject
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faulty_guests import SuiteGuests


class FaultyGuests(Guests):
    """Sets guest rules step by step. What stops a step is told for that group alone; the next run goes on there."""

    def __init__(self, kept: SuiteGuests, changes: Changes) -> None:
        self._kept = kept
        self._changes = changes

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """What is visible of each group or site by now."""
        with passing():
            shown = await self._kept.observe([name_of(one) for one in references])
        return [None if one is None else observed_of(one) for one in shown]

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Take the steps of each, one after the other, as far as they go; no others. What a batch wants of a group a
        second time waits for the first, or neither would ever come to its end."""
        waits: dict[object, TryAgain] = {}
        outcomes = []
        for work in works:
            name = name_of(work.wanted)
            if name in waits:
                outcomes.append(GuestOutcome(None, (), waits[name]))
                continue
            outcome = await self._bring_about(work)
            if isinstance(outcome.fault, TryAgain):
                waits[name] = outcome.fault
            outcomes.append(outcome)
        return outcomes

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        """Do each by a call of its own; what stops one is told for that one alone."""
        return [await self._act(act) for act in acts]

    async def _act(self, act: GuestAct) -> ActOutcome:
        try:
            with passing():
                match act:
                    case RemoveGuest():
                        shown = await self._kept.change(removal_of(act.tenant_id, act.group_id, (act.guest_id,)))
                        return ActOutcome(stayed_after(shown, act.guest_id), None)
                    case DisableGuest():
                        return await self._disable(act)
        except TryAgain as fault:
            return ActOutcome(None, fault)
        except Refused as refused:
            return ActOutcome(None, Rejected(refused.code, refused.detail))

    async def _disable(self, act: DisableGuest) -> ActOutcome:
        try:
            await self._kept.disable(act.tenant_id, act.guest_id)
        except Refused as refused:
            return ActOutcome(Stayed(act.guest_id, refused.code, refused.detail), None)
        return ActOutcome(None, None)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """The next page of groups and sites, or of what has changed."""
        with passing():
            self._kept.answer()
        return await read_changes(self._changes, tenant_id, extension, cursor)

    async def _bring_about(self, work: GuestWork) -> GuestOutcome:
        name = name_of(work.wanted)
        with passing():
            [shown] = await self._kept.observe([name])
        subject = None if shown is None else observed_of(shown)
        stayed: list[Stayed] = []

        async def take(step: Step) -> None:
            shown = await self._kept.change(entry_of_steps(work.wanted, (step,)))
            if step is Step.SET_GUEST_ACCESS:
                stayed.extend(stayed_of(work, shown))

        left = remaining_of_subject(work.wanted, subject, work.steps)
        walked = await walk(work.steps, left, take, lambda: self._kept.find(name))
        seen = subject if walked.shown is None else observed_of(walked.shown)
        return GuestOutcome(seen, walked.done, walked.fault, tuple(stayed))
