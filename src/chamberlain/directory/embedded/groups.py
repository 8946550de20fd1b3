"""Groups in the embedded directory, when it has no faults on purpose: everything about a group is one statement."""

from collections.abc import Sequence
from datetime import timedelta

from chamberlain.directory.embedded.entries import entry_of, mark_of, observed_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.port import Capabilities, Directory, Outcome, Work
from chamberlain.embedded.directory.groups import Ensured, Groups
from chamberlain.rules.errors import Rejected
from chamberlain.rules.groups import GroupReference, ObservedGroup
from chamberlain.rules.plans import Step

# A group that is made can be found in the next moment; one second is the shortest that Retry-After can say.
SHORTEST_LOOK = timedelta(seconds=1)

_CAPABILITIES = Capabilities(visible_after=SHORTEST_LOOK)


class EmbeddedDirectory(Directory):
    """Makes groups in the embedded directory. All steps of a group happen at once, or none does."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    @property
    def capabilities(self) -> Capabilities:
        """What this directory can do."""
        return _CAPABILITIES

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
        return [_outcome(work, by_mark[entry.mark]) for work, entry in zip(works, wanted, strict=True)]


def _outcome(work: Work, ensured: Ensured) -> Outcome:
    group = None if ensured.shown is None else observed_of(ensured.shown)
    if ensured.fault is None:
        return Outcome(group=group, done=work.steps, fault=None)
    fault = Rejected(ensured.fault.code, ensured.fault.detail)
    # Nothing was written, but the people were looked at, and only one code says that some are missing.
    looked_at = Step.CHECK_PEOPLE in work.steps and fault.code != "userUnknown"
    return Outcome(group=group, done=(Step.CHECK_PEOPLE,) if looked_at else (), fault=fault)
