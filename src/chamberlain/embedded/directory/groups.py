# SPDX-License-Identifier: Apache-2.0
"""Reads, provisions and finds groups in batches."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.core.membership_rules import RuleInvalid
from chamberlain.embedded.directory.database import Queryable, database_errors
from chamberlain.embedded.directory.dynamic_groups import users_by_rule
from chamberlain.embedded.directory.entries import (
    Columns,
    Ensured,
    Kind,
    Mark,
    MarkedObjects,
    ensure_storable,
    item_columns,
    mark_columns,
)
from chamberlain.embedded.directory.errors import Refused
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """The desired state of a group; a new group gets this id.

    `values` are all members of the mark's extension attribute, including the key. With a membership rule, the members
    follow from it. A group with `channels` is a team.
    """

    mark: Mark
    id: UUID
    display_name: str
    mail_nickname: str
    mail: str
    description: str | None
    visibility: str
    membership_rule: str | None
    label_id: str | None
    owners: Sequence[UUID]
    members: Sequence[UUID]
    channels: Sequence[str] | None
    values: Mapping[str, str]


class GroupShown(msgspec.Struct, frozen=True, rename="camel"):
    """The current state of a group.

    `members` are users. `channels` is None for a group that is no team. `values` are those of the mark's extension
    attribute.
    """

    id: UUID
    display_name: str
    mail: str
    mail_nickname: str
    label_id: str | None
    owners: list[UUID]
    members: list[UUID]
    channels: list[str] | None
    values: dict[str, str]
    description: str | None
    visibility: str
    is_dynamic: bool


_RuleOfTenant: TypeAlias = tuple[UUID, str | None]

_OBSERVE = "SELECT item, shown FROM directory.observed_groups($1, $2, $3, $4, $5)"


_MADE_AT = """
SELECT i.item, g.created_at
FROM unnest($2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY AS i (tenant_id, name, key, item)
JOIN directory.extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = v.group_id
"""


class Groups(MarkedObjects[GroupEntry, GroupShown]):
    """The groups of all tenants."""

    def __init__(self, database: Queryable, *, key_member: str) -> None:
        super().__init__(database, _KIND, key_member=key_member)

    async def describe(self, entries: Sequence[GroupEntry]) -> None:
        """Set display name, description and visibility of existing groups."""
        if not entries:
            return
        with database_errors():
            await self._database.fetch(
                SQL["describe_groups"],
                self._key_member,
                *mark_columns([entry.mark for entry in entries]),
                [entry.display_name for entry in entries],
                [entry.description for entry in entries],
                [entry.visibility for entry in entries],
            )

    async def ensure(self, entries: Sequence[GroupEntry]) -> Sequence[Ensured[GroupShown]]:
        """Provision each group, entirely or not at all.

        The possible ones in one transaction.
        """
        members_by_rule = await self._members_by_rule(entries)
        results: dict[Mark, Ensured[GroupShown]] = {}
        possible: dict[Mark, GroupEntry] = {}
        for entry in entries:
            match members_by_rule.get((entry.mark.tenant_id, entry.membership_rule)):
                case None:
                    possible[entry.mark] = entry
                case Refused() as fault:
                    results[entry.mark] = Ensured(None, fault)
                case members:
                    possible[entry.mark] = replace(entry, members=members)
        ensured = await ensure_storable(list(possible.values()), self._ensure)
        results.update(zip(possible, ensured, strict=True))
        return [results[entry.mark] for entry in entries]

    async def _members_by_rule(self, entries: Sequence[GroupEntry]) -> Mapping[_RuleOfTenant, Sequence[UUID] | Refused]:
        """Validate the rules and query the members of each once."""
        found: dict[_RuleOfTenant, Sequence[UUID] | Refused] = {}
        for entry in entries:
            tenant_id, rule = entry.mark.tenant_id, entry.membership_rule
            if rule is None or (tenant_id, rule) in found:
                continue
            try:
                with database_errors():
                    found[tenant_id, rule] = await users_by_rule(self._database, tenant_id, rule)
            except RuleInvalid as fault:
                found[tenant_id, rule] = Refused("ruleInvalid", fault.detail)
        return found

    async def _ensure(self, entries: Sequence[GroupEntry]) -> Sequence[Ensured[GroupShown]]:
        with database_errors():
            [row] = await self._database.fetch(SQL["ensure_groups"], self._key_member, *_columns(entries))
        return await self._results(entries, row)


def _columns(entries: Sequence[GroupEntry]) -> Columns:
    """Return the parameters of directory.ensure_groups after the first, in their order."""
    tenants, names, keys = mark_columns([entry.mark for entry in entries])
    return (
        tenants,
        [entry.id for entry in entries],
        names,
        keys,
        [entry.display_name for entry in entries],
        [entry.mail_nickname for entry in entries],
        [entry.mail for entry in entries],
        [entry.description for entry in entries],
        [entry.visibility for entry in entries],
        [entry.membership_rule for entry in entries],
        [entry.label_id for entry in entries],
        [_json.encode({entry.mark.extension: entry.values}).decode() for entry in entries],
        [entry.channels is not None for entry in entries],
        *item_columns([entry.values.items() for entry in entries], width=2),
        *item_columns([_relations(entry) for entry in entries], width=3),
        *item_columns([[(name,) for name in entry.channels or ()] for entry in entries], width=1),
    )


_json = msgspec.json.Encoder()


def _relations(entry: GroupEntry) -> Iterable[tuple[UUID, bool, bool]]:
    owners, members = frozenset(entry.owners), frozenset(entry.members)
    return [(user, user in owners, user in members) for user in owners | members]


def _as_made(entry: GroupEntry) -> GroupShown:
    # A newly provisioned group has the desired state, so it is not read back.
    return GroupShown(
        id=entry.id,
        display_name=entry.display_name,
        mail=entry.mail,
        mail_nickname=entry.mail_nickname,
        label_id=entry.label_id,
        owners=list(entry.owners),
        members=list(entry.members),
        channels=None if entry.channels is None else list(entry.channels),
        values=dict(entry.values),
        description=entry.description,
        visibility=entry.visibility,
        is_dynamic=entry.membership_rule is not None,
    )


_KIND = Kind(
    observe=_OBSERVE,
    made_at=_MADE_AT,
    decode=msgspec.json.Decoder(GroupShown).decode,
    as_made=_as_made,
    sentences={
        "userUnknown": "The directory has no user {}. Leave this user out, or add the user to the directory first.",
        "labelUnknown": "The directory has no sensitivity label {}. Use one of the labels of the directory, or none.",
        "addressTaken": "The address {} belongs to another user, group or mailbox. Choose another mail nickname.",
    },
)


Row: TypeAlias = asyncpg.Record

# No group has this id.
_BEFORE_ALL = UUID(int=0)


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """A query for the groups of a tenant with this extension value.

    Values are case-insensitive, and groups are sorted by id. The result has at most `most` groups, with ids greater
    than `after`.
    """

    tenant_id: UUID
    extension: str
    member: str
    value: str
    after: UUID | None
    most: int


# Runs one query. An implementation may batch concurrent queries.
FindGroups: TypeAlias = Callable[[GroupQuery], Awaitable[Sequence[Row]]]


async def find_groups(database: Queryable, queries: Sequence[GroupQuery]) -> Sequence[Sequence[Row]]:
    """Run several queries in one call and return the rows of each.

    The database must have the role that row-level security restricts, so that each query sees only its own tenant.
    """
    with database_errors():
        rows = await database.fetch(
            SQL["find"],
            [query.tenant_id for query in queries],
            [query.extension for query in queries],
            [query.member for query in queries],
            [query.value for query in queries],
            [query.after or _BEFORE_ALL for query in queries],
            [query.most for query in queries],
        )
    found: list[list[Row]] = [[] for _ in queries]
    for row in rows:
        found[row["item"] - 1].append(row)
    return found
