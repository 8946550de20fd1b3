"""Who and what is known of tenants: users with their licences, labels, taken addresses, and who is in which group."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Pool, answering


@dataclass(slots=True)
class Question:
    """What is asked about one tenant. `memberships` are pairs of a user and a group; `managed` are users whose managers
    are asked for, `gathered` groups whose members are, nested ones too; `groups` are those that may exist or not,
    `owned` those whose owners are asked for."""

    users: set[UUID] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    memberships: set[tuple[UUID, UUID]] = field(default_factory=set)
    managed: set[UUID] = field(default_factory=set)
    gathered: set[UUID] = field(default_factory=set)
    groups: set[UUID] = field(default_factory=set)
    owned: set[UUID] = field(default_factory=set)


class Card(msgspec.Struct, frozen=True, rename="camel"):
    """A user, as far as others need to know."""

    id: UUID
    display_name: str
    mail: str | None
    user_principal_name: str
    user_type: str
    has_team_license: bool
    properties: dict[str, str]


class Relative(msgspec.Struct, frozen=True, rename="camel"):
    """Somebody who is the manager of a user, or a member or owner of a group: `of` says of whom or of which."""

    of: UUID
    id: UUID
    display_name: str


@dataclass(frozen=True, slots=True)
class Relations:
    """Managers of those who have one, and members of those groups that have any, in the order of their names."""

    managers: Mapping[UUID, Relative]
    members: Mapping[UUID, Sequence[Relative]]


_NOT_ASKED = Relations({}, {})


@dataclass(frozen=True, slots=True)
class Found:
    """What of a question is there, in the spelling of the question."""

    people: Sequence[Card]
    labels: frozenset[str]
    taken_addresses: frozenset[str]
    memberships: frozenset[tuple[UUID, UUID]]
    relations: Relations
    groups: frozenset[UUID]
    owners: Mapping[UUID, Sequence[Relative]]


_cards = msgspec.json.Decoder(list[Card])
_relatives = msgspec.json.Decoder(list[Relative])

# They go as one text: the driver asks each element of an array whether it is an array
# itself, which takes as long as all else about a short text.
_LOOK_UP = r"""
SELECT tenant_id, people, known_labels, taken_addresses, found_members, found_groups
FROM directory.look_up($1, $2, $3, $4, $5, string_to_array($6, E'\x1f'), $7, $8, $9, $10)
"""
_BETWEEN = "\x1f"

# For those who ask within a statement of their own: which of these addresses are given away (sql/held_addresses.sql).
HELD_ADDRESSES = "directory.held_addresses"

# Where it is told that users or labels have changed or are gone (sql/people_changes.sql).
PEOPLE_CHANNEL = "directory_people"

_RELATIONS = """
SELECT tenant_id, managers, members FROM directory.relations($1, $2, $3, $4, $5, $6)
"""

_KNOWN_GROUPS = "SELECT tenant_id, known FROM directory.known_groups($1, $2, $3)"

_OWNERS = "SELECT tenant_id, owners FROM directory.group_owners($1, $2, $3, $4)"

# Of a larger group, those whose names come first: what is asked for so is to be shown to somebody.
MOST_MEMBERS = 1_000


class Register:
    """Answers questions about several tenants at once; each is answered by what its own tenant holds."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def look_up(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Found]:
        """The answer for each tenant, all of them in one call, and in one more each where relations, groups and owners
        are asked for."""
        relations = await self._relations(questions)
        known = await self._known_groups(questions)
        owners = await self._owners(questions)
        tenants = sorted(questions)
        asked = [questions[tenant] for tenant in tenants]
        labels = [_storable(question.labels) for question in asked]
        addresses = [_storable(question.addresses) for question in asked]
        pairs = [list(question.memberships) for question in asked]
        with answering():
            rows = await self._pool.fetch(
                _LOOK_UP,
                tenants,
                list(chain.from_iterable(question.users for question in asked)),
                _ends([len(question.users) for question in asked]),
                list(chain.from_iterable(labels)),
                _ends([len(several) for several in labels]),
                _BETWEEN.join(chain.from_iterable(addresses)),
                _ends([len(several) for several in addresses]),
                [member for several in pairs for member, _ in several],
                [group for several in pairs for _, group in several],
                _ends([len(several) for several in pairs]),
            )
        return {
            tenant_id: Found(
                _cards.decode(people),
                frozenset(labels),
                frozenset(addresses),
                frozenset(zip(members, groups, strict=True)),
                relations.get(tenant_id, _NOT_ASKED),
                known.get(tenant_id, frozenset()),
                owners.get(tenant_id, {}),
            )
            for tenant_id, people, labels, addresses, members, groups in rows
        }

    async def _relations(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Relations]:
        tenants = sorted(tenant for tenant, asked in questions.items() if asked.managed or asked.gathered)
        if not tenants:
            return {}
        asked = [questions[tenant] for tenant in tenants]
        with answering():
            rows = await self._pool.fetch(
                _RELATIONS,
                tenants,
                list(chain.from_iterable(question.managed for question in asked)),
                _ends([len(question.managed) for question in asked]),
                list(chain.from_iterable(question.gathered for question in asked)),
                _ends([len(question.gathered) for question in asked]),
                MOST_MEMBERS,
            )
        return {tenant_id: _gathered(managers, members) for tenant_id, managers, members in rows}

    async def _known_groups(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, frozenset[UUID]]:
        tenants = sorted(tenant for tenant, asked in questions.items() if asked.groups)
        if not tenants:
            return {}
        asked = [questions[tenant].groups for tenant in tenants]
        with answering():
            rows = await self._pool.fetch(
                _KNOWN_GROUPS, tenants, list(chain.from_iterable(asked)), _ends([len(groups) for groups in asked])
            )
        return {tenant_id: frozenset(known) for tenant_id, known in rows}

    async def _owners(self, questions: Mapping[UUID, Question]) -> Mapping[UUID, Mapping[UUID, Sequence[Relative]]]:
        tenants = sorted(tenant for tenant, asked in questions.items() if asked.owned)
        if not tenants:
            return {}
        asked = [questions[tenant].owned for tenant in tenants]
        ends = _ends([len(groups) for groups in asked])
        with answering():
            rows = await self._pool.fetch(_OWNERS, tenants, list(chain.from_iterable(asked)), ends, MOST_MEMBERS)
        return {tenant_id: _by_group(owners) for tenant_id, owners in rows}


def _gathered(managers: str, members: str) -> Relations:
    return Relations({manager.of: manager for manager in _relatives.decode(managers)}, _by_group(members))


def _by_group(relatives: str) -> Mapping[UUID, Sequence[Relative]]:
    by_group: dict[UUID, list[Relative]] = {}
    for relative in _relatives.decode(relatives):
        by_group.setdefault(relative.of, []).append(relative)
    return by_group


def _ends(lengths: Sequence[int]) -> list[int]:
    return list(accumulate(lengths))


def _storable(texts: Iterable[str]) -> Sequence[str]:
    """Those that the database can hold. The others are not in it, and asking for them would fail for everybody; so
    would what stands between addresses, which none of them holds."""
    return [text for text in texts if not _NOT_STORABLE.search(text)]


_NOT_STORABLE = re.compile(f"[\x00{_BETWEEN}\ud800-\udfff]")
