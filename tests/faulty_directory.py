"""Directory ports with injected faults."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import (
    Capabilities,
    Directory,
    GroupOutcome,
    GroupWork,
    MailboxOutcome,
    MailboxWork,
    Outcome,
    People,
)


@dataclass
class FaultyPeople(People):
    """A people port that raises `error` while it is set."""

    people: People
    error: TryAgain | None = None
    questions: list[PeopleQuestion] = field(default_factory=list)

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        self.questions.append(question)
        if self.error is not None:
            raise self.error
        return await self.people.look_up(question)


@dataclass
class FaultyDirectory(Directory):
    """A directory that fails for all calls, or for single requests."""

    directory: Directory
    error: TryAgain | None = None
    faults: dict[str, OutsideFault] = field(default_factory=dict)
    # Acknowledge all work and do nothing.
    acknowledges_only: bool = False
    # Report a database of its own.
    has_own_database: bool = False
    observed: list[GroupReference | MailboxReference] = field(default_factory=list)
    ensured: list[GroupWork] = field(default_factory=list)
    ensured_mailboxes: list[MailboxWork] = field(default_factory=list)

    @property
    def capabilities(self) -> Capabilities:
        capabilities = self.directory.capabilities
        return replace(capabilities, shares_database=capabilities.shares_database and not self.has_own_database)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        self.observed.extend(references)
        return await self.directory.observe(references)

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        if self.error is not None:
            raise self.error
        self.ensured.extend(works)
        if self.acknowledges_only:
            return [Outcome(None, work.steps, None) for work in works]
        well = [work for work in works if work.wanted.display_name not in self.faults]
        outcomes = dict(zip([id(work) for work in well], await self.directory.ensure(well), strict=True))
        return [outcomes.get(id(work)) or Outcome(None, (), self.faults[work.wanted.display_name]) for work in works]

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        self.observed.extend(references)
        return await self.directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        if self.error is not None:
            raise self.error
        self.ensured_mailboxes.extend(works)
        if self.acknowledges_only:
            return [Outcome(None, work.steps, None) for work in works]
        well = [work for work in works if work.wanted.display_name not in self.faults]
        outcomes = dict(zip([id(work) for work in well], await self.directory.ensure_mailboxes(well), strict=True))
        return [outcomes.get(id(work)) or Outcome(None, (), self.faults[work.wanted.display_name]) for work in works]
