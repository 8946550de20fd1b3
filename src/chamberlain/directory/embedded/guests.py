"""Guest rules in the embedded directory, when it has no faults on purpose: all steps of one happen at once."""

from collections.abc import Iterator, Mapping, Sequence

from chamberlain.directory.embedded.errors import passing
from chamberlain.directory.embedded.steps import walk
from chamberlain.directory.embedded.subjects import (
    changes_of,
    entry_of,
    entry_of_steps,
    name_of,
    observed_of,
    removal_of,
    stayed_after,
    stayed_of,
)
from chamberlain.directory.port import (
    MOST_CHANGES,
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
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.entries import Ensured
from chamberlain.embedded.directory.errors import CursorUnknown, Refused
from chamberlain.embedded.directory.faults import FaultyGuestRules
from chamberlain.embedded.directory.guests import SubjectShown
from chamberlain.rules.errors import Rejected, TryAgain
from chamberlain.rules.guest_plans import remaining_of_subject
from chamberlain.rules.ids import GroupId, TenantId, UserId
from chamberlain.rules.plans import Step
from chamberlain.rules.subjects import ObservedSubject, SubjectReference


class EmbeddedGuests(Guests):
    """Sets guest rules, each assignment whole or not at all."""

    def __init__(self, kept: guests.Guests, changes: Changes) -> None:
        self._kept = kept
        self._changes = changes

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """What the directory shows of each group or site."""
        with passing():
            shown = await self._kept.observe([name_of(one) for one in references])
        return [None if one is None else observed_of(one) for one in shown]

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Bring each about. What a batch wants twice of one group comes about one after the other."""
        outcomes: dict[int, GuestOutcome] = {}
        for numbers in _rounds(works):
            with passing():
                ensured = await self._kept.ensure([entry_of(works[number]) for number in numbers])
            for number, one in zip(numbers, ensured, strict=True):
                outcomes[number] = _outcome(works[number], one)
        return [outcomes[number] for number in range(len(works))]

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        """Do each; who shall leave one group leaves it together, each account is disabled by itself."""
        outcomes = {
            **await self._remove([act for act in acts if isinstance(act, RemoveGuest)]),
            **await self._disable([act for act in acts if isinstance(act, DisableGuest)]),
        }
        return [outcomes[act] for act in acts]

    async def _remove(self, acts: Sequence[RemoveGuest]) -> Mapping[GuestAct, ActOutcome]:
        going: dict[tuple[TenantId, GroupId], list[UserId]] = {}
        for act in acts:
            going.setdefault((act.tenant_id, act.group_id), []).append(act.guest_id)
        with passing():
            ensured = await self._kept.ensure([removal_of(*place, guests) for place, guests in going.items()])
        left = dict(zip(going, ensured, strict=True))
        return {act: _left(act, left[act.tenant_id, act.group_id]) for act in acts}

    async def _disable(self, acts: Sequence[DisableGuest]) -> Mapping[GuestAct, ActOutcome]:
        with passing():
            refusals = await self._kept.disable([(act.tenant_id, act.guest_id) for act in acts])
        return {
            act: ActOutcome(None if refused is None else Stayed(act.guest_id, refused.code, refused.detail), None)
            for act, refused in zip(acts, refusals, strict=True)
        }

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """The next page of groups and sites, or of what has changed."""
        return await read_changes(self._changes, tenant_id, extension, cursor)


async def read_changes(changes: Changes, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
    """The next page, with the faults of the port."""
    try:
        with passing():
            return changes_of(await changes.read(tenant_id, extension, cursor, most=MOST_CHANGES))
    except CursorUnknown as error:
        raise Rejected("cursorUnknown", str(error)) from error


def _left(act: RemoveGuest, ensured: Ensured[SubjectShown]) -> ActOutcome:
    if ensured.fault is not None:
        return ActOutcome(None, Rejected(ensured.fault.code, ensured.fault.detail))
    return ActOutcome(stayed_after(ensured.shown, act.guest_id), None)


def _rounds(works: Sequence[GuestWork]) -> Iterator[Sequence[int]]:
    """The numbers of the works, so that no round has a group twice and each group keeps its order."""
    left = list(range(len(works)))
    while left:
        first = {name_of(works[number].wanted): number for number in reversed(left)}
        numbers = sorted(first.values())
        yield numbers
        left = [number for number in left if number not in set(numbers)]


def _outcome(work: GuestWork, ensured: Ensured[SubjectShown]) -> GuestOutcome:
    subject = None if ensured.shown is None else observed_of(ensured.shown)
    if ensured.fault is None:
        return GuestOutcome(subject, work.steps, None, stayed_of(work, ensured.shown))
    return GuestOutcome(subject, (), Rejected(ensured.fault.code, ensured.fault.detail))


class FaultyGuests(Guests):
    """Sets guest rules step by step. What stops a step is told for that group alone; the next run goes on there."""

    def __init__(self, kept: FaultyGuestRules, changes: Changes) -> None:
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
