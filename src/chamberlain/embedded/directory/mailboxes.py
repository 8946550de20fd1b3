"""Mailboxes are brought about and observed here, in batches, by the mark that each carries, as groups are."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Pool, Queryable, answering, one_tenant, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_changed
from chamberlain.embedded.directory.entries import (
    Contact,
    Ensured,
    MailboxEntry,
    Mark,
    Permission,
    Place,
    ensure_storable,
)
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.groups import Columns

_json = msgspec.json.Encoder()


def columns_of_mailboxes(entries: Sequence[MailboxEntry]) -> Columns:
    """All columns, those of the mailboxes first, then values, aliases, owners and permissions with the number of their
    mailbox. Their order is that of the parameters of directory.ensure_mailboxes behind the first."""
    return (
        *_mailboxes(entries),
        *_of_each([[*entry.values.items()] for entry in entries], width=2),
        *_of_each([[(alias,) for alias in entry.aliases] for entry in entries], width=1),
        *_of_each([[(owner,) for owner in entry.owners] for entry in entries], width=1),
        *_of_each([_permissions(entry) for entry in entries], width=3),
    )


def _mailboxes(entries: Sequence[MailboxEntry]) -> Columns:
    return (
        [entry.mark.tenant_id for entry in entries],
        [entry.id for entry in entries],
        [entry.mark.extension for entry in entries],
        [entry.mark.key for entry in entries],
        [entry.recipient_type for entry in entries],
        [entry.name for entry in entries],
        [entry.display_name for entry in entries],
        [entry.mail for entry in entries],
        [_written(entry.properties) for entry in entries],
        [_written(entry.contact) for entry in entries],
        [None if entry.place is None else _written(entry.place) for entry in entries],
        [entry.resource_capacity for entry in entries],
        [entry.automate_processing for entry in entries],
        [entry.additional_response for entry in entries],
        [entry.automatic_reply for entry in entries],
        [entry.quota_megabytes for entry in entries],
        [entry.is_hidden for entry in entries],
        [_written({entry.mark.extension: entry.values}) for entry in entries],
        [_written(entry.aliases) for entry in entries],
        [f"{{{','.join(map(str, entry.owners))}}}" for entry in entries],
    )


def _permissions(entry: MailboxEntry) -> Sequence[tuple[object, ...]]:
    wanted = [(user, one.access_right, one.auto_mapping) for user, one in entry.permissions.items()]
    return [*wanted, *((user, None, None) for user in entry.revoked)]


def _of_each(rows_of_each: Sequence[Sequence[tuple[object, ...]]], *, width: int) -> Columns:
    """What belongs to mailboxes, in columns, with the number of each one's mailbox before them."""
    rows = [(item, *row) for item, rows in enumerate(rows_of_each, 1) for row in rows]
    return tuple([row[column] for row in rows] for column in range(width + 1))


def _written(value: object) -> str:
    return _json.encode(value).decode()


ROOM = "RoomMailbox"


class MailboxShown(msgspec.Struct, frozen=True, rename="camel"):
    """A mailbox as it is. `values` are those of the mark's extension attribute; `place` is None but for rooms."""

    id: UUID
    recipient_type: str
    name: str
    display_name: str
    mail: str
    aliases: list[str]
    properties: dict[str, str]
    contact: Contact
    place: Place | None
    resource_capacity: int | None
    automate_processing: str | None
    additional_response: str | None
    automatic_reply: str | None
    quota_megabytes: int | None
    is_hidden: bool
    owners: list[UUID]
    permissions: dict[UUID, Permission]
    values: dict[str, str]


_shown = msgspec.json.Decoder(MailboxShown)

_OBSERVE = "SELECT item, shown FROM directory.observe_mailboxes($1, $2, $3, $4)"

_MADE_AT = """
SELECT i.item, m.created_at
FROM unnest($2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY AS i (tenant_id, name, key, item)
JOIN directory.user_extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
JOIN directory.mailboxes m ON m.tenant_id = i.tenant_id AND m.user_id = v.user_id
"""

_ENSURE = """
SELECT mailbox_ids, made, faults, culprits FROM directory.ensure_mailboxes(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28, $29, $30, $31, $32)
"""

# What is there already is called so only when somebody says so.
_DESCRIBE = """
UPDATE directory.users u SET display_name = i.display_name
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) AS i (tenant_id, name, key, display_name)
JOIN directory.user_extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
WHERE u.tenant_id = i.tenant_id AND u.id = v.user_id AND u.display_name <> i.display_name
RETURNING u.tenant_id, u.id
"""

_SENTENCES = {
    "userUnknown": "The directory has no user {}. Leave this user out, or add the user to the directory first.",
    "addressTaken": "The address {} belongs to another user, group or mailbox. Choose another name or alias.",
}


class Mailboxes:
    """The mailboxes of all tenants, for those who may change them. `key_member` is the member that marks are found
    by."""

    def __init__(self, database: Queryable, *, key_member: str) -> None:
        self._database = database
        self._key_member = key_member

    async def observe(self, marks: Sequence[Mark]) -> Sequence[MailboxShown | None]:
        """What there is of each; None where there is nothing."""
        if not marks:
            return []
        with answering():
            rows = await self._database.fetch(_OBSERVE, self._key_member, *_columns(marks))
        shown = {item: _shown.decode(text) for item, text in rows}
        return [shown.get(item) for item in range(1, len(marks) + 1)]

    async def made_at(self, marks: Sequence[Mark]) -> Sequence[datetime | None]:
        """When each was made; None where there is nothing."""
        with answering():
            rows = await self._database.fetch(_MADE_AT, self._key_member, *_columns(marks))
        made: dict[int, datetime] = {row[0]: row[1] for row in rows}
        return [made.get(item) for item in range(1, len(marks) + 1)]

    async def describe(self, entries: Sequence[MailboxEntry]) -> None:
        """Set the display name of those that there are."""
        if not entries:
            return
        names = [entry.display_name for entry in entries]
        with answering():
            async with one_transaction(self._database) as connection:
                columns = _columns([entry.mark for entry in entries])
                changed = dict[UUID, list[UUID]]()
                for row in await connection.fetch(_DESCRIBE, self._key_member, *columns, names):
                    changed.setdefault(row["tenant_id"], []).append(row["id"])
                await follow_changed(connection, changed)

    async def ensure(self, entries: Sequence[MailboxEntry]) -> Sequence[Ensured[MailboxShown]]:
        """Bring each about, whole or not at all; the possible ones in one transaction."""
        return await ensure_storable(entries, self._ensure)

    async def _ensure(self, entries: Sequence[MailboxEntry]) -> Sequence[Ensured[MailboxShown]]:
        with answering():
            async with one_transaction(self._database) as connection:
                [row] = await connection.fetch(_ENSURE, self._key_member, *columns_of_mailboxes(entries))
                # A mailbox is a user, whom membership rules may name.
                await follow_changed(connection, _users(entries, row["mailbox_ids"]))
        return await self._answers(entries, *row)

    async def _answers(
        self,
        entries: Sequence[MailboxEntry],
        found: Sequence[UUID | None],
        made: Sequence[UUID],
        faults: Sequence[str | None],
        culprits: Sequence[str | None],
    ) -> Sequence[Ensured[MailboxShown]]:
        new = frozenset(made)
        older = [entry.mark for entry, user in zip(entries, found, strict=True) if user and user not in new]
        shown = dict(zip(older, await self.observe(older), strict=True))
        return [
            Ensured(
                _as_made(entry) if entry.id in new else shown.get(entry.mark),
                None if code is None else Refused(code, _SENTENCES[code].format(culprit)),
            )
            for entry, code, culprit in zip(entries, faults, culprits, strict=True)
        ]


def _users(entries: Sequence[MailboxEntry], found: Sequence[UUID | None]) -> Mapping[UUID, Sequence[UUID]]:
    """The users that these mailboxes are, by their tenants."""
    users: dict[UUID, list[UUID]] = {}
    for entry, user in zip(entries, found, strict=True):
        if user is not None:
            users.setdefault(entry.mark.tenant_id, []).append(user)
    return users


def _columns(marks: Sequence[Mark]) -> tuple[list[object], ...]:
    return (
        [mark.tenant_id for mark in marks],
        [mark.extension for mark in marks],
        [mark.key for mark in marks],
    )


def _as_made(entry: MailboxEntry) -> MailboxShown:
    # A mailbox that was made a moment ago is what was asked for; nothing has to be read back.
    return MailboxShown(
        id=entry.id,
        recipient_type=entry.recipient_type,
        name=entry.name,
        display_name=entry.display_name,
        mail=entry.mail,
        aliases=list(entry.aliases),
        properties=dict(entry.properties),
        contact=entry.contact,
        place=(entry.place or Place()) if entry.recipient_type == ROOM else None,
        resource_capacity=entry.resource_capacity,
        automate_processing=entry.automate_processing,
        additional_response=entry.additional_response,
        automatic_reply=entry.automatic_reply,
        quota_megabytes=entry.quota_megabytes,
        is_hidden=bool(entry.is_hidden),
        owners=list(entry.owners),
        permissions=dict(entry.permissions),
        values=dict(entry.values),
    )


LIST: Final = "SELECT shown FROM directory.list_mailboxes($1, $2, $3, coalesce($4, now()), $5)"


async def list_mailboxes(
    pool: Pool, tenant_id: UUID, extension: str, *, behind: UUID | None, until: datetime | None, most: int
) -> Sequence[MailboxShown]:
    """At most so many, in the order of their ids, behind this one; of those that were made until then."""
    async with one_tenant(pool, tenant_id) as connection:
        rows = await connection.fetch(LIST, tenant_id, extension, behind, until, most)
    return [_shown.decode(row["shown"]) for row in rows]
