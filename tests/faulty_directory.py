# SPDX-License-Identifier: Apache-2.0
"""Directory ports with injected faults."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import (
    Directory,
    GroupOutcome,
    GroupWork,
    MailboxOutcome,
    MailboxWork,
    Outcome,
    People,
    Shortfall,
)
from chamberlain.directory.steps import Step


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

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        if self.error is not None:
            raise self.error
        return await self.people.find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        if self.error is not None:
            raise self.error
        return await self.people.labels(tenant_id)


@dataclass
class FaultyDirectory(Directory):
    """A directory that fails for all calls, or for single requests."""

    directory: Directory
    error: TryAgain | None = None
    faults: dict[str, OutsideFault] = field(default_factory=dict)
    # The steps that these requests have done before their fault.
    done: tuple[Step, ...] = ()
    # Leave these parts of completed steps undone.
    shortfalls: tuple[Shortfall, ...] = ()
    # Acknowledge all work and do nothing.
    acknowledges_only: bool = False
    # Report a database of its own.
    has_own_database: bool = False
    # Report that writes are trusted, as a remote directory, and show no object.
    trusts_writes: bool = False
    shows_nothing: bool = False
    observed: list[GroupReference | MailboxReference] = field(default_factory=list)
    ensured: list[GroupWork] = field(default_factory=list)
    ensured_mailboxes: list[MailboxWork] = field(default_factory=list)

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        capabilities = await self.directory.capabilities(tenant_id)
        shares_database = capabilities.shares_database and not (self.has_own_database or self.trusts_writes)
        return replace(capabilities, shares_database=shares_database, trusts_writes=self.trusts_writes)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        self.observed.extend(references)
        shown = await self.directory.observe(references)
        return [None] * len(shown) if self.shows_nothing else shown

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        if self.error is not None:
            raise self.error
        self.ensured.extend(works)
        if self.acknowledges_only:
            return [Outcome(None, work.steps, None) for work in works]
        well = [work for work in works if work.wanted.display_name not in self.faults]
        outcomes = dict(
            zip([id(work) for work in well], map(self._shown, await self.directory.ensure(well)), strict=True)
        )
        return [outcomes.get(id(work)) or self._fault(work.wanted.display_name) for work in works]

    def _fault(self, name: str) -> Outcome[Any]:
        shortfalls = tuple([each for each in self.shortfalls if each.step in self.done])
        return Outcome(None, self.done, self.faults[name], shortfalls=shortfalls)

    def _shown(self, outcome: Outcome[Any]) -> Outcome[Any]:
        outcome = replace(outcome, shortfalls=tuple([each for each in self.shortfalls if each.step in outcome.done]))
        if not self.shows_nothing or outcome.observed is None:
            return outcome
        return replace(outcome, observed=None, made=outcome.observed.id)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        self.observed.extend(references)
        shown = await self.directory.observe_mailboxes(references)
        return [None] * len(shown) if self.shows_nothing else shown

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        if self.error is not None:
            raise self.error
        self.ensured_mailboxes.extend(works)
        if self.acknowledges_only:
            return [Outcome(None, work.steps, None) for work in works]
        well = [work for work in works if work.wanted.display_name not in self.faults]
        ensured = map(self._shown, await self.directory.ensure_mailboxes(well))
        outcomes = dict(zip([id(work) for work in well], ensured, strict=True))
        return [outcomes.get(id(work)) or self._fault(work.wanted.display_name) for work in works]
