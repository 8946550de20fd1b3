"""Groups are brought about and observed here, in batches, by the mark that each carries.

A mark is one member of an extension attribute whose value nobody else uses. Whoever asks twice for the same mark gets
the same group; so a group asked for with a mark also comes with the id that it shall have if it has to be made.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.embedded.directory.database import Queryable, answering
from chamberlain.embedded.directory.dynamic_groups import users_by_rule
from chamberlain.embedded.directory.entries import Ensured, GroupEntry, Mark, ensure_storable
from chamberlain.embedded.directory.errors import BadRule, Refused

# Its order is that of the parameters of directory.ensure_groups behind the first.
Columns = tuple[list[object], ...]

_json = msgspec.json.Encoder()


def columns_of(entries: Sequence[GroupEntry]) -> Columns:
    """All columns, those of the groups first, then values, relations and channels with the number of their group."""
    return (*_groups(entries), *_values(entries), *_relations(entries), *_channels(entries))


def _groups(entries: Sequence[GroupEntry]) -> Columns:
    return (
        [entry.mark.tenant_id for entry in entries],
        [entry.id for entry in entries],
        [entry.mark.extension for entry in entries],
        [entry.mark.key for entry in entries],
        [entry.display_name for entry in entries],
        [entry.mail_nickname for entry in entries],
        [entry.mail for entry in entries],
        [entry.description for entry in entries],
        [entry.visibility for entry in entries],
        [entry.membership_rule for entry in entries],
        [entry.label_id for entry in entries],
        [_json.encode({entry.mark.extension: entry.values}).decode() for entry in entries],
        [entry.channels is not None for entry in entries],
    )


def _values(entries: Sequence[GroupEntry]) -> Columns:
    rows = [(item, *pair) for item, entry in enumerate(entries, 1) for pair in entry.values.items()]
    return ([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def _relations(entries: Sequence[GroupEntry]) -> Columns:
    items: list[object] = []
    users: list[object] = []
    owners: list[object] = []
    members: list[object] = []
    for item, entry in enumerate(entries, 1):
        owning, belonging = frozenset(entry.owners), frozenset(entry.members)
        for user in owning | belonging:
            items.append(item)
            users.append(user)
            owners.append(user in owning)
            members.append(user in belonging)
    return (items, users, owners, members)


def _channels(entries: Sequence[GroupEntry]) -> Columns:
    rows = [(item, name) for item, entry in enumerate(entries, 1) for name in entry.channels or ()]
    return ([row[0] for row in rows], [row[1] for row in rows])


class GroupShown(msgspec.Struct, frozen=True, rename="camel"):
    """A group as it is. `members` are users, `channels` is None for one that is no team, `values` those of the mark's
    extension attribute.
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


_WhoseRule: TypeAlias = tuple[UUID, str | None]

_shown = msgspec.json.Decoder(GroupShown)

_OBSERVE = "SELECT item, shown FROM directory.observe_groups($1, $2, $3, $4)"

_ENSURE = """
SELECT group_ids, made, faults, culprits FROM directory.ensure_groups(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
"""

# People rename groups themselves: what is there already is called so only when somebody says so.
_DESCRIBE = """
UPDATE directory.groups g SET
    display_name = i.display_name, description = i.description, visibility = i.visibility
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS i (tenant_id, name, key, display_name, description, visibility)
JOIN directory.extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
WHERE g.tenant_id = i.tenant_id AND g.id = v.group_id
AND (g.display_name, g.description, g.visibility) IS DISTINCT FROM (i.display_name, i.description, i.visibility)
"""

_MADE_AT = """
SELECT i.item, g.created_at
FROM unnest($2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY AS i (tenant_id, name, key, item)
JOIN directory.extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = v.group_id
"""

_SENTENCES = {
    "userUnknown": "The directory has no user {}. Leave this user out, or add the user to the directory first.",
    "labelUnknown": "The directory has no sensitivity label {}. Use one of the labels of the directory, or none.",
    "addressTaken": "The address {} belongs to another user, group or mailbox. Choose another mail nickname.",
}


class Groups:
    """The groups of all tenants, for those who may change them. `key_member` is the member that marks are found by."""

    def __init__(self, database: Queryable, *, key_member: str) -> None:
        self._database = database
        self._key_member = key_member

    async def observe(self, marks: Sequence[Mark]) -> Sequence[GroupShown | None]:
        """What there is of each; None where there is nothing."""
        if not marks:
            return []
        tenants = [mark.tenant_id for mark in marks]
        names = [mark.extension for mark in marks]
        keys = [mark.key for mark in marks]
        with answering():
            rows = await self._database.fetch(_OBSERVE, self._key_member, tenants, names, keys)
        shown = {item: _shown.decode(text) for item, text in rows}
        return [shown.get(item) for item in range(1, len(marks) + 1)]

    async def made_at(self, marks: Sequence[Mark]) -> Sequence[datetime | None]:
        """When each was made; None where there is nothing."""
        tenants = [mark.tenant_id for mark in marks]
        names = [mark.extension for mark in marks]
        keys = [mark.key for mark in marks]
        with answering():
            rows = await self._database.fetch(_MADE_AT, self._key_member, tenants, names, keys)
        made: dict[int, datetime] = {row[0]: row[1] for row in rows}
        return [made.get(item) for item in range(1, len(marks) + 1)]

    async def describe(self, entries: Sequence[GroupEntry]) -> None:
        """Set display name, description and visibility of those that there are."""
        if not entries:
            return
        with answering():
            await self._database.fetch(
                _DESCRIBE,
                self._key_member,
                [entry.mark.tenant_id for entry in entries],
                [entry.mark.extension for entry in entries],
                [entry.mark.key for entry in entries],
                [entry.display_name for entry in entries],
                [entry.description for entry in entries],
                [entry.visibility for entry in entries],
            )

    async def ensure(self, entries: Sequence[GroupEntry]) -> Sequence[Ensured[GroupShown]]:
        """Bring each about, whole or not at all; the possible ones in one transaction."""
        followers = await self._followers(entries)
        answers: dict[Mark, Ensured[GroupShown]] = {}
        possible: dict[Mark, GroupEntry] = {}
        for entry in entries:
            match followers.get((entry.mark.tenant_id, entry.membership_rule)):
                case None:
                    possible[entry.mark] = entry
                case BadRule() as fault:
                    answers[entry.mark] = Ensured(None, fault)
                case members:
                    possible[entry.mark] = replace(entry, members=members)
        ensured = await ensure_storable(list(possible.values()), self._ensure)
        answers.update(zip(possible, ensured, strict=True))
        return [answers[entry.mark] for entry in entries]

    async def _followers(self, entries: Sequence[GroupEntry]) -> Mapping[_WhoseRule, Sequence[UUID] | BadRule]:
        """Whom each rule names, each asked for once."""
        found: dict[_WhoseRule, Sequence[UUID] | BadRule] = {}
        for entry in entries:
            tenant_id, rule = entry.mark.tenant_id, entry.membership_rule
            if rule is None or (tenant_id, rule) in found:
                continue
            try:
                with answering():
                    found[tenant_id, rule] = await users_by_rule(self._database, tenant_id, rule)
            except BadRule as fault:
                found[tenant_id, rule] = fault
        return found

    async def _ensure(self, entries: Sequence[GroupEntry]) -> Sequence[Ensured[GroupShown]]:
        with answering():
            [row] = await self._database.fetch(_ENSURE, self._key_member, *columns_of(entries))
        return await self._answers(entries, *row)

    async def _answers(
        self,
        entries: Sequence[GroupEntry],
        found: Sequence[UUID | None],
        made: Sequence[UUID],
        faults: Sequence[str | None],
        culprits: Sequence[str | None],
    ) -> Sequence[Ensured[GroupShown]]:
        new = frozenset(made)
        older = [entry.mark for entry, group in zip(entries, found, strict=True) if group and group not in new]
        shown = dict(zip(older, await self.observe(older), strict=True))
        return [
            Ensured(
                _as_made(entry) if entry.id in new else shown.get(entry.mark),
                None if code is None else Refused(code, _SENTENCES[code].format(culprit)),
            )
            for entry, code, culprit in zip(entries, faults, culprits, strict=True)
        ]


def _as_made(entry: GroupEntry) -> GroupShown:
    # A group that was made a moment ago is what was asked for; nothing has to be read back.
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


Row: TypeAlias = asyncpg.Record

# No group has this id.
_BEFORE_ALL = UUID(int=0)

_FIND = "SELECT * FROM directory.groups_by_values($1, $2, $3, $4, $5, $6)"


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """The groups of a tenant with this value, in the order of their ids: those behind an id, and no more than `most`.
    Values are compared without regard to case."""

    tenant_id: UUID
    extension: str
    member: str
    value: str
    after: UUID | None
    most: int


# One question; whoever makes this may have those that are asked at the same time answered together.
FindGroups: TypeAlias = Callable[[GroupQuery], Awaitable[Sequence[Row]]]


async def find_groups(database: Queryable, wanted: Sequence[GroupQuery]) -> Sequence[Sequence[Row]]:
    """The rows of each question. Each is answered by what its own tenant holds; `database` must be the role that is
    bound by row-level security."""
    with answering():
        rows = await database.fetch(
            _FIND,
            [one.tenant_id for one in wanted],
            [one.extension for one in wanted],
            [one.member for one in wanted],
            [one.value for one in wanted],
            [one.after or _BEFORE_ALL for one in wanted],
            [one.most for one in wanted],
        )
    found: list[list[Row]] = [[] for _ in wanted]
    for row in rows:
        found[row["item"] - 1].append(row)
    return found
