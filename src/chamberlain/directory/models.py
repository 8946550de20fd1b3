# SPDX-License-Identifier: Apache-2.0
"""People of a directory, and questions about them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from unicodedata import normalize

from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.values import value


@dataclass(frozen=True, slots=True)
class Person:
    """A user of a tenant.

    `properties` are those for naming rules, by their directory names (`department`); `preferredLanguage` is one of them
    (RFC 5646, such as `de-CH`).
    """

    id: UserId
    display_name: str
    mail: str | None
    has_team_license: bool
    properties: Mapping[str, str]

    @property
    def is_guest(self) -> bool:
        """Return whether the user is a guest from another organisation."""
        return self.properties.get("userType") == "Guest"

    @property
    def language(self) -> str | None:
        """Return the preferred language, None if the directory has none."""
        return self.properties.get("preferredLanguage") or None


@dataclass(frozen=True, slots=True)
class Label:
    """A sensitivity label of a tenant.

    `description` is None if the directory has none.
    """

    id: str
    display_name: str
    description: str | None = None


# Least letters of one word of a search for people, and most words that it compares.
LEAST_LETTERS = 2
MOST_WORDS = 5


def typed_words(text: str) -> tuple[str, ...]:
    """Split a typed text into words to search people by.

    They are in NFC. There are none if no word has two letters. The directory lowers them as it lowers its names:
    Python lowers some letters to others than PostgreSQL does.
    """
    words = normalize("NFC", text).split()[:MOST_WORDS]
    return tuple(words) if any(len(word) >= LEAST_LETTERS for word in words) else ()


@dataclass(frozen=True, slots=True)
class NamedPerson:
    """A user with the name that records and responses show."""

    id: UserId
    display_name: str


@value(frozen=True, slots=True)
class PeopleQuestion:
    """One question about a tenant's directory.

    `member` and `groups`: the groups among these with this user as direct or indirect member. `manager_of`: the manager
    of this user. `members_of`: the direct and indirect members of these groups. `named_groups`: the existing groups
    among these. `membership_rules`: the valid rules among these. `owners_of`: the owners of these groups.
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
    """A user's manager, and members of groups.

    Members are users only, by name; of a very large group the first ones.
    """

    manager: NamedPerson | None
    members: Mapping[GroupId, tuple[NamedPerson, ...]]


# One instance: few questions ask for relations.
NO_RELATIONS = Relations(None, {})


@value(frozen=True, slots=True)
class PeopleAnswer:
    """The answer to a question.

    A user, label or group that is missing here does not exist. Labels have the ids of the directory. A missing address
    is free, a missing membership rule valid; `rule_faults` has a sentence for each invalid rule. `unchecked_rules` are
    those that the directory cannot check, neither valid nor invalid. `owners` are users only, by name; of very many,
    the first thousand.
    """

    people: Mapping[UserId, Person] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    taken_addresses: frozenset[str] = frozenset()
    member_of: frozenset[GroupId] = frozenset()
    relations: Relations = NO_RELATIONS
    known_groups: frozenset[GroupId] = frozenset()
    rule_faults: Mapping[str, str] = field(default_factory=dict)
    owners: Mapping[GroupId, tuple[NamedPerson, ...]] = field(default_factory=dict)
    unchecked_rules: frozenset[str] = frozenset()


def known_label(label: str, labels: frozenset[str]) -> str | None:
    """Return the directory's id of a label.

    None means that there is none. Ids are compared without regard to letter case.
    """
    if label in labels:
        return label
    return next((each for each in sorted(labels) if each.lower() == label.lower()), None)


# Each with its JSON Pointer.
PlacedUsers = Iterable[tuple[str, UserId]]
PlacedGroups = Iterable[tuple[str, GroupId]]


def unknown_people(users: PlacedUsers, groups: PlacedGroups, answer: PeopleAnswer) -> Iterator[Fault]:
    """Report users and groups that the directory does not have."""
    for pointer, user in users:
        if user not in answer.people:
            sentence = "{user} is no user of this tenant. Leave this id out."
            yield Fault.build(pointer, "userUnknown", sentence, user=str(user))
    for pointer, group in groups:
        if group not in answer.known_groups:
            sentence = "{group} is no group of this tenant. Leave this id out."
            yield Fault.build(pointer, "groupUnknown", sentence, group=str(group))


@value(frozen=True, slots=True)
class MailAddress:
    """A mail nickname and its address at a domain."""

    mail_nickname: str
    mail: str


class ObjectType(StrEnum):
    """Type of an adopted object.

    A team is a group.
    """

    MAILBOX = "mailbox"
    GROUP = "group"
