# SPDX-License-Identifier: Apache-2.0
"""Looks up users, labels, addresses and groups of several tenants."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TypeVar
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Pool, database_errors, one_tenant
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

Key = TypeVar("Key")


@dataclass(slots=True)
class Question:
    """The keys to look up in one tenant.

    `memberships` are pairs of a user and a group. The other groups of keys ask for the managers of users (`managed`),
    the members of groups, including nested ones (`gathered`), the existence of groups (`groups`), and the owners of
    groups (`owned`).
    """

    users: set[UUID] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    memberships: set[tuple[UUID, UUID]] = field(default_factory=set)
    managed: set[UUID] = field(default_factory=set)
    gathered: set[UUID] = field(default_factory=set)
    groups: set[UUID] = field(default_factory=set)
    owned: set[UUID] = field(default_factory=set)


class Card(msgspec.Struct, frozen=True, rename="camel"):
    """A user, with the properties that other users can see."""

    id: UUID
    display_name: str
    mail: str | None
    user_principal_name: str
    user_type: str
    has_team_license: bool
    properties: dict[str, str]


class Relative(msgspec.Struct, frozen=True, rename="camel"):
    """A manager, member or owner; `of` is the user or group."""

    of: UUID
    id: UUID
    display_name: str


@dataclass(frozen=True, slots=True)
class Relations:
    """Managers by user, and members by group, sorted by name."""

    managers: Mapping[UUID, Relative]
    members: Mapping[UUID, Sequence[Relative]]


_NO_RELATIONS = Relations({}, {})


@dataclass(frozen=True, slots=True)
class Found:
    """The existing keys of a question, in its spelling."""

    people: Sequence[Card]
    labels: frozenset[str]
    taken_addresses: frozenset[str]
    memberships: frozenset[tuple[UUID, UUID]]
    relations: Relations
    groups: frozenset[UUID]
    owners: Mapping[UUID, Sequence[Relative]]


_cards = msgspec.json.Decoder(list[Card])
_relatives = msgspec.json.Decoder(list[Relative])

_SEPARATOR = "\x1f"

# The function that finds taken addresses, for use in other statements (sql/held_addresses.sql).
HELD_ADDRESSES = "directory.held_addresses"

# The channel of notifications about changed or removed users and labels (sql/people_changes.sql).
PEOPLE_CHANNEL = "directory_people"


# Enough to display; the first ones by name.
MOST_MEMBERS = 1_000


class Register:
    """Answers questions about several tenants; each question sees only its own tenant."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def look_up(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Found]:
        """Look up the keys of each tenant.

        One call answers all tenants. Relations, groups and owners take one more call each, only if they are requested.
        """
        rows = await self._fetch(
            SQL["relations"], questions, lambda one: one.managed, lambda one: one.gathered, limit=(MOST_MEMBERS,)
        )
        relations = {
            tenant_id: Relations({one.of: one for one in _relatives.decode(managers)}, _by_group(members))
            for tenant_id, managers, members in rows
        }
        rows = await self._fetch(SQL["known_groups"], questions, lambda one: one.groups)
        known = {tenant_id: frozenset(groups) for tenant_id, groups in rows}
        rows = await self._fetch(SQL["owners"], questions, lambda one: one.owned, limit=(MOST_MEMBERS,))
        owners = {tenant_id: _by_group(members) for tenant_id, members in rows}
        return {
            tenant_id: Found(
                _cards.decode(people),
                frozenset(labels),
                frozenset(addresses),
                frozenset(zip(members, groups, strict=True)),
                relations.get(tenant_id, _NO_RELATIONS),
                known.get(tenant_id, frozenset()),
                owners.get(tenant_id, {}),
            )
            for tenant_id, people, labels, addresses, members, groups in await self._fetch_people(questions)
        }

    async def find(self, tenant_id: UUID, words: Sequence[str], *, most: int) -> Sequence[Card]:
        """Find people by the beginnings of their words.

        At most `most` are returned, by name. Each has a word that starts with each of these. Mailboxes and users who
        cannot sign in are not found.
        """
        typed = _storable(words)
        if not typed or len(typed) < len(words):
            return []
        async with one_tenant(self._pool, tenant_id) as connection:
            [(ids, people)] = await connection.fetch(SQL["find_people"], tenant_id, typed, most)
        cards = {card.id: card for card in _cards.decode(people)}
        return [cards[each] for each in ids if each in cards]

    async def labels(self, tenant_id: UUID) -> Sequence[tuple[str, str]]:
        """List the ids and names of a tenant's labels, by name."""
        async with one_tenant(self._pool, tenant_id) as connection:
            return [(row["id"], row["display_name"]) for row in await connection.fetch(SQL["labels"], tenant_id)]

    async def _fetch_people(self, questions: Mapping[UUID, Question]) -> Sequence[asyncpg.Record]:
        tenants = sorted(questions)
        asked = [questions[tenant] for tenant in tenants]
        addresses, address_ends = _flat([_storable(question.addresses) for question in asked])
        pairs, pair_ends = _flat([question.memberships for question in asked])
        with database_errors():
            return await self._pool.fetch(
                SQL["look_up"],
                tenants,
                *_flat([question.users for question in asked]),
                *_flat([_storable(question.labels) for question in asked]),
                _SEPARATOR.join(addresses),
                address_ends,
                [member for member, _ in pairs],
                [group for _, group in pairs],
                pair_ends,
            )

    async def _fetch(
        self,
        statement: str,
        questions: Mapping[UUID, Question],
        *keys: Callable[[Question], Collection[UUID]],
        limit: tuple[int, ...] = (),
    ) -> Sequence[asyncpg.Record]:
        """Run a statement for the tenants with such keys."""
        tenants = sorted(tenant for tenant, question in questions.items() if any(of(question) for of in keys))
        if not tenants:
            return []
        columns = chain.from_iterable(_flat([of(questions[tenant]) for tenant in tenants]) for of in keys)
        with database_errors():
            return await self._pool.fetch(statement, tenants, *columns, *limit)


def _by_group(relatives: str) -> Mapping[UUID, Sequence[Relative]]:
    by_group: dict[UUID, list[Relative]] = {}
    for relative in _relatives.decode(relatives):
        by_group.setdefault(relative.of, []).append(relative)
    return by_group


def _flat(keys: Sequence[Collection[Key]]) -> tuple[list[Key], list[int]]:
    """Join the keys of all tenants, and return their ends."""
    return list(chain.from_iterable(keys)), list(accumulate(map(len, keys)))


def _storable(texts: Iterable[str]) -> Sequence[str]:
    """Return the texts that the database can store.

    A query with another one would fail for all tenants.
    """
    return [text for text in texts if not _NOT_STORABLE.search(text)]


_NOT_STORABLE = re.compile(f"[\x00{_SEPARATOR}\ud800-\udfff]")
