"""People and what a directory knows of them, as far as a request needs it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.values import value


@dataclass(frozen=True, slots=True)
class Person:
    """A user of a tenant. `properties` are those that naming rules may use, by their directory names (`department`);
    `preferredLanguage` is one of them (RFC 5646, such as `de-CH`)."""

    id: UserId
    display_name: str
    mail: str | None
    has_team_license: bool
    properties: Mapping[str, str]

    @property
    def is_guest(self) -> bool:
        """Whether somebody of another organisation is let in here."""
        return self.properties.get("userType") == "Guest"


@dataclass(frozen=True, slots=True)
class NamedPerson:
    """Somebody as others are shown them, and as records keep them."""

    id: UserId
    display_name: str


@value(frozen=True, slots=True)
class PeopleQuestion:
    """What somebody wants to know of one tenant's directory, all in one question.

    `member` and `groups` belong together: of which of these groups is this user a member, directly or through others?
    `manager_of` asks who this user's manager is, `members_of` who is in these groups, directly or through others.
    `named_groups` asks which of these groups there are, `membership_rules` which of these rules can be followed;
    `owners_of` who owns these groups.
    """

    tenant_id: TenantId
    users: frozenset[UserId] = frozenset()
    labels: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    member: UserId | None = None
    groups: frozenset[GroupId] = frozenset()
    manager_of: UserId | None = None
    members_of: frozenset[GroupId] = frozenset()
    named_groups: frozenset[GroupId] = frozenset()
    membership_rules: frozenset[str] = frozenset()
    owners_of: frozenset[GroupId] = frozenset()


@dataclass(frozen=True, slots=True)
class Relations:
    """A user's manager, and who is in groups: users only, by name; of a group of thousands, the first of them."""

    manager: NamedPerson | None
    members: Mapping[GroupId, tuple[NamedPerson, ...]]


# One for all: hardly anybody asks for relations.
NO_RELATIONS = Relations(None, {})


@value(frozen=True, slots=True)
class PeopleAnswer:
    """What of the question is there. What is not in the answer does not exist in the tenant (for addresses: is
    free; for membership rules: can be followed, the others with the sentence that says what is wrong). `owners` are
    those of groups that have any: users only, by name; of very many, the first thousand."""

    people: Mapping[UserId, Person] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    taken_addresses: frozenset[str] = frozenset()
    member_of: frozenset[GroupId] = frozenset()
    relations: Relations = NO_RELATIONS
    known_groups: frozenset[GroupId] = frozenset()
    rule_faults: Mapping[str, str] = field(default_factory=dict)
    owners: Mapping[GroupId, tuple[NamedPerson, ...]] = field(default_factory=dict)


# Each with the pointer to where it stands.
PlacedUsers = Iterable[tuple[str, UserId]]
PlacedGroups = Iterable[tuple[str, GroupId]]


def unknown_people(users: PlacedUsers, groups: PlacedGroups, answer: PeopleAnswer) -> Iterator[Fault]:
    """A fault for each place where a user or group is named that the directory does not have."""
    for pointer, user in users:
        if user not in answer.people:
            yield Fault(pointer, "userUnknown", f"{user} is no user of this tenant. Leave this id out.")
    for pointer, group in groups:
        if group not in answer.known_groups:
            yield Fault(pointer, "groupUnknown", f"{group} is no group of this tenant. Leave this id out.")


@value(frozen=True, slots=True)
class MailAddress:
    """A mail nickname and the address that it makes at a domain."""

    mail_nickname: str
    mail: str


class ObjectType(StrEnum):
    """What is adopted, as the directory tells it apart; a team is a group."""

    MAILBOX = "mailbox"
    GROUP = "group"
