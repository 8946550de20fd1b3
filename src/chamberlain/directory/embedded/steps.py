# SPDX-License-Identifier: Apache-2.0
"""Provisions groups and mailboxes, at once or step by step."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.directory.embedded.mapping import KnownReference, mark_of, port_errors, rejected
from chamberlain.directory.port import Outcome, Work
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.entries import Ensured, Mark, Marked, MarkedObjects
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faults import Faulty

Wanted = TypeVar("Wanted")
Observed = TypeVar("Observed")
Entry = TypeVar("Entry", bound=Marked)
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Kind(Generic[Wanted, Observed, Entry, Shown]):
    """Conversions between port and directory for one type of object.

    `remaining` selects the steps whose effect an object does not show yet. `created` and `parts` select the part of an
    entry that a step sets.
    """

    entry_of: Callable[[Work[Wanted]], Entry]
    observed_of: Callable[[Shown], Observed]
    remaining: Callable[[Work[Wanted], Observed | None], Collection[Step]]
    create: Step
    created: Callable[[Entry], Entry]
    parts: Mapping[Step, Callable[[Entry], Entry]]

    def observed(self, shown: Shown | None) -> Observed | None:
        """Convert the state of an object, if it exists."""
        return None if shown is None else self.observed_of(shown)


class Provisioner(ABC, Generic[Wanted, Observed]):
    """Observes and provisions objects of one type."""

    @abstractmethod
    async def observe(self, references: Sequence[KnownReference]) -> Sequence[Observed | None]:
        """Read the state of each.

        None if it does not exist or is not visible. Raises TryAgain.
        """

    @abstractmethod
    async def ensure(self, works: Sequence[Work[Wanted]]) -> Sequence[Outcome[Observed]]:
        """Provision each object.

        Duplicates in a batch are provisioned once.
        """


class AtomicProvisioner(Provisioner[Wanted, Observed], Generic[Wanted, Observed, Entry, Shown]):
    """Provisions each object entirely or not at all, without faults."""

    def __init__(self, objects: MarkedObjects[Entry, Shown], kind: Kind[Wanted, Observed, Entry, Shown]) -> None:
        self._objects = objects
        self._kind = kind

    async def observe(self, references: Sequence[KnownReference]) -> Sequence[Observed | None]:
        """Read the state of each."""
        with port_errors():
            shown = await self._objects.observe([mark_of(one) for one in references], [one.id for one in references])
        return [self._kind.observed(one) for one in shown]

    async def ensure(self, works: Sequence[Work[Wanted]]) -> Sequence[Outcome[Observed]]:
        """Deduplicate the batch and provision it; a second statement sets names."""
        wanted = [self._kind.entry_of(work) for work in works]
        unique = list({entry.mark: entry for entry in wanted}.values())
        with port_errors():
            ensured = await self._objects.ensure(unique)
            by_mark = {entry.mark: one for entry, one in zip(unique, ensured, strict=True)}
            described = {
                entry.mark: entry
                for work, entry in zip(works, wanted, strict=True)
                if Step.SET_PROPERTIES in work.steps and by_mark[entry.mark].fault is None
            }
            by_mark |= await self._describe(list(described.values()))
        return [self._outcome(work, by_mark[entry.mark]) for work, entry in zip(works, wanted, strict=True)]

    async def _describe(self, entries: Sequence[Entry]) -> Mapping[Mark, Ensured[Shown]]:
        await self._objects.describe(entries)
        shown = await self._objects.observe([entry.mark for entry in entries])
        return {entry.mark: Ensured(one, None) for entry, one in zip(entries, shown, strict=True)}

    def _outcome(self, work: Work[Wanted], ensured: Ensured[Shown]) -> Outcome[Observed]:
        observed = self._kind.observed(ensured.shown)
        if ensured.fault is None:
            return Outcome(observed, work.steps, None)
        # Nothing was provisioned. But the check of people succeeded, unless this code reports missing users.
        is_checked = Step.CHECK_PEOPLE in work.steps and ensured.fault.code != "userUnknown"
        done = (Step.CHECK_PEOPLE,) if is_checked else ()
        return Outcome(observed, done, rejected(ensured.fault))


class StepwiseProvisioner(Provisioner[Wanted, Observed], Generic[Wanted, Observed, Entry, Shown]):
    """Provisions each object step by step.

    A fault stops the steps of one object; the next run continues there.
    """

    def __init__(self, objects: Faulty[Entry, Shown], kind: Kind[Wanted, Observed, Entry, Shown]) -> None:
        self._objects = objects
        self._kind = kind

    async def observe(self, references: Sequence[KnownReference]) -> Sequence[Observed | None]:
        """Read the state of each visible object."""
        return await self._observe([mark_of(one) for one in references], [one.id for one in references])

    async def ensure(self, works: Sequence[Work[Wanted]]) -> Sequence[Outcome[Observed]]:
        """Run the steps of each object in their order.

        A retry continues after a fault.
        """
        marks = [self._kind.entry_of(work).mark for work in works]
        unique = dict(zip(marks, works, strict=True))
        found = dict(zip(unique, await self._observe(list(unique)), strict=True))
        outcomes = {mark: await self._provision(work, found[mark]) for mark, work in unique.items()}
        return [outcomes[mark] for mark in marks]

    async def _observe(self, marks: Sequence[Mark], ids: Sequence[UUID | None] = ()) -> Sequence[Observed | None]:
        with port_errors():
            shown = await self._objects.observe(marks, ids)
        return [self._kind.observed(one) for one in shown]

    async def _provision(self, work: Work[Wanted], before: Observed | None) -> Outcome[Observed]:
        entry = self._kind.entry_of(work)
        result = await run_steps(
            work.steps,
            self._kind.remaining(work, before),
            lambda step: self._run(step, entry),
            lambda: self._objects.find(entry.mark),
        )
        observed = before if result.shown is None else self._kind.observed_of(result.shown)
        made = entry.id if self._kind.create in result.taken else None
        return Outcome(observed, result.done, result.fault, made)

    async def _run(self, step: Step, entry: Entry) -> None:
        if step is Step.CHECK_PEOPLE:
            try:
                await self._objects.check(entry)
            except Refused as refused:
                if refused.code == "userUnknown":
                    raise
        elif step is self._kind.create:
            await self._objects.create(entry, self._kind.created(entry))
        elif step is Step.SET_PROPERTIES:
            await self._objects.describe(entry)
        else:
            await self._objects.change(self._kind.parts[step](entry))


@dataclass(frozen=True, slots=True)
class StepResult(Generic[Shown]):
    """The final state, the completed steps, and the fault.

    The state is None after a fault. `taken` are the steps whose calls succeeded.
    """

    shown: Shown | None
    done: tuple[Step, ...]
    fault: OutsideFault | None
    taken: tuple[Step, ...]


async def run_steps(
    steps: Sequence[Step],
    remaining: Collection[Step],
    run: Callable[[Step], Awaitable[None]],
    find: Callable[[], Awaitable[Shown]],
) -> StepResult[Shown]:
    """Run the remaining steps until a fault, and then find the object."""
    done: list[Step] = []
    try:
        with port_errors():
            for step in steps:
                if step in remaining:
                    await run(step)
                done.append(step)
            return StepResult(await find(), tuple(steps), None, tuple(steps))
    except TryAgain as fault:
        # The last step is complete only when the object is visible.
        return StepResult(None, tuple(done[: len(steps) - 1]), fault, tuple(done))
    except Refused as refused:
        return StepResult(None, tuple(done), rejected(refused), tuple(done))
