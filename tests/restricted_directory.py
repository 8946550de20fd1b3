# SPDX-License-Identifier: Apache-2.0
"""Directory ports without some abilities, and with properties that they do not report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import TenantId
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import Label, PeopleAnswer, PeopleQuestion, Person
from chamberlain.directory.port import (
    ActOutcome,
    Adoptions,
    Directory,
    GroupOutcome,
    GroupWork,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    MailboxChanges,
    MailboxOutcome,
    MailboxPage,
    MailboxWork,
    Marking,
    Outcome,
    People,
    SubjectChanges,
)
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedRules, ObservedSubject, SubjectReference, SubjectType

# No labels, no sites, and three properties that cannot be read.
RESTRICTED = Capabilities(
    visible_after=timedelta(0),
    abilities=ALL_ABILITIES - {Ability.LABELS, Ability.SITES},
    unreadable=frozenset(
        {
            DriftProperty.MAILBOX_AUTO_MAPPING,
            DriftProperty.ASSIGNMENT_ADDED_BY,
            DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS,
        }
    ),
)
NO_LABELS = Rejected("labelsNotSupported", "This directory has no labels. Leave the label out.")
NO_SITES = Rejected("sitesNotSupported", "This directory has no sites.")


@dataclass
class RestrictedPeople(People):
    """People of a directory without some abilities."""

    people: People
    capabilities: Capabilities

    async def look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        answer = await self.people.look_up(question)
        if not self.capabilities.can(Ability.LABELS):
            answer = replace(answer, labels=frozenset())
        if not self.capabilities.can(Ability.MEMBERSHIP_RULES):
            answer = replace(answer, rule_faults={}, unchecked_rules=question.membership_rules)
        return answer

    async def find(self, tenant_id: TenantId, text: str, limit: int) -> Sequence[Person]:
        return await self.people.find(tenant_id, text, limit)

    async def labels(self, tenant_id: TenantId) -> Sequence[Label]:
        return await self.people.labels(tenant_id) if self.capabilities.can(Ability.LABELS) else ()


@dataclass
class RestrictedDirectory(Directory):
    """A directory without some abilities. It refuses work before any write."""

    directory: Directory
    restricted: Capabilities

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        own = await self.directory.capabilities(tenant_id)
        return replace(self.restricted, visible_after=own.visible_after, shares_database=own.shares_database)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        return await self.directory.observe(references)

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        possible = [work for work in works if self._refusal(work) is None]
        outcomes = iter(await self.directory.ensure(possible))
        refusals = [self._refusal(work) for work in works]
        return [next(outcomes) if each is None else Outcome(None, (), each) for each in refusals]

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        shown = await self.directory.observe_mailboxes(references)
        return [None if each is None else self._hidden(each) for each in shown]

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        outcomes = await self.directory.ensure_mailboxes(works)
        return [
            each if each.observed is None else replace(each, observed=self._hidden(each.observed)) for each in outcomes
        ]

    def _refusal(self, work: GroupWork) -> Rejected | None:
        has_label = work.wanted.label_id is not None and not self.restricted.can(Ability.LABELS)
        return NO_LABELS if has_label else None

    def _hidden(self, shown: ObservedMailbox) -> ObservedMailbox:
        return hidden_mailbox(shown, self.restricted)


@dataclass
class RestrictedGuests(Guests):
    """Guests of a directory without some abilities."""

    guests: Guests
    restricted: Capabilities

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        shown = await self.guests.observe(references)
        return [None if each is None else hidden_subject(each, self.restricted) for each in shown]

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        refused = [
            not self.restricted.can(Ability.SITES) and Step.SET_SHARING_CAPABILITY in work.steps for work in works
        ]
        possible = [work for work, is_refused in zip(works, refused, strict=True) if not is_refused]
        outcomes = iter(await self.guests.ensure(possible))
        return [
            GuestOutcome(None, (), NO_SITES) if is_refused else self._hidden(next(outcomes)) for is_refused in refused
        ]

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        page = await self.guests.changes(tenant_id, extension, cursor)
        if self.restricted.can(Ability.SITES):
            return page
        return replace(page, subjects=tuple([replace(each, type=SubjectType.GROUP) for each in page.subjects]))

    def _hidden(self, outcome: GuestOutcome) -> GuestOutcome:
        subject = outcome.subject
        return outcome if subject is None else replace(outcome, subject=hidden_subject(subject, self.restricted))


@dataclass
class RestrictedAdoptions(Adoptions):
    """Adoptions of a directory that does not report some properties."""

    adoptions: Adoptions
    restricted: Capabilities

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        return await self.adoptions.mailboxes(tenant_id, extension, cursor)

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        shown = await self.adoptions.observe(tenant_id, extension, ids)
        return [None if each is None else hidden_mailbox(each, self.restricted) for each in shown]

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        return await self.adoptions.changed_mailboxes(tenant_id, extensions, cursor)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self.adoptions.mark(markings)

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        return await self.adoptions.unmark(markings)


def hidden_mailbox(shown: ObservedMailbox, restricted: Capabilities) -> ObservedMailbox:
    """Remove the properties that the directory does not report."""
    if DriftProperty.MAILBOX_AUTO_MAPPING not in restricted.unreadable:
        return shown
    return replace(shown, auto_mapped=None)


def hidden_subject(shown: ObservedSubject, restricted: Capabilities) -> ObservedSubject:
    """Remove the properties that the directory does not report.

    Without sites, the security group of a site is a group.
    """
    rules = None if shown.rules is None else _hidden_rules(shown.rules, restricted)
    if restricted.can(Ability.SITES):
        return replace(shown, rules=rules)
    return replace(shown, rules=rules and replace(rules, sharing=None), type=SubjectType.GROUP, site=None)


def _hidden_rules(rules: ObservedRules, restricted: Capabilities) -> ObservedRules:
    unreadable = restricted.unreadable
    if not unreadable:
        return rules
    return ObservedRules(
        allowed=rules.allowed,
        added_by=None if DriftProperty.ASSIGNMENT_ADDED_BY in unreadable else rules.added_by,
        allowed_domains=None if DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS in unreadable else rules.allowed_domains,
        blocked_domains=None if DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS in unreadable else rules.blocked_domains,
        sharing=rules.sharing,
    )
