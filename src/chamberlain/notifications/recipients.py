"""Readers of reports: those who may do something about what a policy does to a group or site.

These are its owners, or, where nobody owns it or the policy leaves reviews to them, the administrators of the tenant.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.core.ids import UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person
from chamberlain.guests.policies.models import ConfirmedBy
from chamberlain.guests.policies.reports import Report
from chamberlain.notifications.rendering import address_of
from chamberlain.tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Candidates:
    """Who may be told."""

    owners: tuple[UserId, ...]
    administrators: tuple[UserId, ...]


@dataclass(frozen=True, slots=True)
class Readers:
    """Who is told, and as what."""

    users: tuple[UserId, ...]
    are_owners: bool


def question_of(report: Report, tenant: Tenant) -> PeopleQuestion:
    """What the directory is asked: who owns it, and who administers the tenant."""
    owned = frozenset((report.subject.entry.id,))
    return PeopleQuestion(tenant.id, owners_of=owned, members_of=tenant.administrator_groups)


def candidates(report: Report, tenant: Tenant, answer: PeopleAnswer) -> Candidates:
    """Who may be told, by what the directory has answered."""
    members = [person.id for group in tenant.administrator_groups for person in answer.relations.members.get(group, ())]
    owners = () if report.confirmed_by is ConfirmedBy.ADMINISTRATORS else answer.owners.get(report.subject.entry.id, ())
    return Candidates(
        owners=tuple([person.id for person in owners]),
        administrators=tuple(sorted({*tenant.administrator_users, *members})),
    )


def readers(candidates: Candidates, people: Mapping[UserId, Person]) -> Readers:
    """Who is told: the owners who are no guests (these confirm nobody), where at least one of them can be."""
    owners = tuple([user for user in candidates.owners if user not in people or not people[user].is_guest])
    if any(user in people and address_of(people[user]) is not None for user in owners):
        return Readers(owners, are_owners=True)
    return Readers(candidates.administrators, are_owners=False)
