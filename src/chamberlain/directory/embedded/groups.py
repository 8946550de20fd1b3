"""Groups in the embedded directory, when it has no faults on purpose: all of a group is one statement, and what one is
called that was there before is another."""

from collections.abc import Mapping, Sequence

from chamberlain.directory.embedded.entries import entry_of, mark_of, observed_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.embedded.refusals import refusal_of
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.port import Outcome, Work
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.entries import Ensured, GroupEntry, Mark
from chamberlain.embedded.directory.groups import Groups, GroupShown


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
