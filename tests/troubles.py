"""The ports of an estate with trouble in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import Capabilities, Directory, MailboxOutcome, MailboxWork, Outcome, People, Work


@dataclass
class TroubledPeople(People):
    """People who do not answer as long as `trouble` is set."""

    people: People
    trouble: TryAgain | None = None
    questions: list[PeopleQuestion] = field(default_factory=list)

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        self.questions.append(question)
        if self.trouble is not None:
            raise self.trouble
        return await self.people.look_up(question)


@dataclass
class TroubledDirectory(Directory):
    """A directory with trouble: with all of it, or with single requests."""

    directory: Directory
    trouble: TryAgain | None = None
    faults: dict[str, OutsideFault] = field(default_factory=dict)
    # It says that all is done, and does nothing.
    is_deaf: bool = False
    # It has a database of its own.
    is_elsewhere: bool = False
    observed: list[GroupReference | MailboxReference] = field(default_factory=list)
    ensured: list[Work] = field(default_factory=list)
    ensured_mailboxes: list[MailboxWork] = field(default_factory=list)

    @property
    def capabilities(self) -> Capabilities:
        capabilities = self.directory.capabilities
        return replace(capabilities, shares_database=capabilities.shares_database and not self.is_elsewhere)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        self.observed.extend(references)
        return await self.directory.observe(references)

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        if self.trouble is not None:
            raise self.trouble
        self.ensured.extend(works)
        if self.is_deaf:
            return [Outcome(None, work.steps, None) for work in works]
        well = [work for work in works if work.wanted.display_name not in self.faults]
        outcomes = dict(zip([id(work) for work in well], await self.directory.ensure(well), strict=True))
        return [outcomes.get(id(work)) or Outcome(None, (), self.faults[work.wanted.display_name]) for work in works]

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        self.observed.extend(references)
        return await self.directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        if self.trouble is not None:
            raise self.trouble
        self.ensured_mailboxes.extend(works)
        if self.is_deaf:
            return [MailboxOutcome(None, work.steps, None) for work in works]
        well = [work for work in works if work.wanted.display_name not in self.faults]
        outcomes = dict(zip([id(work) for work in well], await self.directory.ensure_mailboxes(well), strict=True))
        return [
            outcomes.get(id(work)) or MailboxOutcome(None, (), self.faults[work.wanted.display_name]) for work in works
        ]
