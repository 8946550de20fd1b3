# SPDX-License-Identifier: Apache-2.0
"""Reads and provisions mailboxes in batches, and lists them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Pool, Queryable, one_tenant, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_changed
from chamberlain.embedded.directory.entries import (
    Columns,
    Ensured,
    Kind,
    Mark,
    MarkedObjects,
    ensure_storable,
    in_order,
    item_columns,
    mark_columns,
)
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

ROOM = "RoomMailbox"


class Contact(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Address book entries of a mailbox that other users do not have."""

    phone: str | None = None
    business_phones: tuple[str, ...] = ()
    notes: str | None = None


class Place(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The properties of a room in a room finder, except its capacity."""

    audio_device_name: str | None = None
    display_device_name: str | None = None
    video_device_name: str | None = None
    is_wheel_chair_accessible: bool | None = None
    tags: tuple[str, ...] = ()
    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


class Permission(msgspec.Struct, frozen=True, rename="camel"):
    """The permission of a user on a mailbox: `FullAccess` or `SendAs`."""

    access_right: str
    auto_mapping: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxEntry:
    """The desired state of a mailbox; a new mailbox gets this id.

    Properties that are None or empty stay unchanged. `permissions` are set for the named users and removed from those
    in `revoked`; other users keep theirs. `values` are all members of the mark's extension attribute, including the
    key.
    """

    mark: Mark
    id: UUID
    recipient_type: str
    name: str
    display_name: str
    mail: str
    values: Mapping[str, str]
    aliases: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    contact: Contact = field(default_factory=Contact)
    place: Place | None = None
    resource_capacity: int | None = None
    automate_processing: str | None = None
    additional_response: str | None = None
    automatic_reply: str | None = None
    quota_megabytes: int | None = None
    is_hidden: bool | None = None
    owners: Sequence[UUID] = ()
    permissions: Mapping[UUID, Permission] = field(default_factory=dict)
    revoked: Collection[UUID] = ()


class MailboxShown(msgspec.Struct, frozen=True, rename="camel"):
    """The current state of a mailbox.

    `values` are those of the mark's extension attribute. `place` is None except for rooms.
    """

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


_OBSERVE = "SELECT item, shown FROM directory.observed_mailboxes($1, $2, $3, $4, $5)"

_MADE_AT = """
SELECT i.item, m.created_at
FROM unnest($2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY AS i (tenant_id, name, key, item)
JOIN directory.user_extension_values v
    ON v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = $1 AND v.value = lower(i.key)
JOIN directory.mailboxes m ON m.tenant_id = i.tenant_id AND m.user_id = v.user_id
"""


class Mailboxes(MarkedObjects[MailboxEntry, MailboxShown]):
    """The mailboxes of all tenants.

    A mailbox is a user, so each change updates the dynamic groups.
    """

    def __init__(self, database: Queryable, *, key_member: str) -> None:
        super().__init__(database, _KIND, key_member=key_member)

    async def describe(self, entries: Sequence[MailboxEntry]) -> None:
        """Set the display name of existing mailboxes."""
        if not entries:
            return
        columns = mark_columns([entry.mark for entry in entries])
        names = [entry.display_name for entry in entries]
        async with one_transaction(self._database) as connection:
            rows = await connection.fetch(SQL["describe_mailboxes"], self._key_member, *columns, names)
            await follow_changed(connection, [(row["tenant_id"], row["id"]) for row in rows])

    async def ensure(self, entries: Sequence[MailboxEntry]) -> Sequence[Ensured[MailboxShown]]:
        """Provision each mailbox, entirely or not at all.

        The possible ones in one transaction.
        """
        return await ensure_storable(entries, self._ensure)

    async def _ensure(self, entries: Sequence[MailboxEntry]) -> Sequence[Ensured[MailboxShown]]:
        async with one_transaction(self._database) as connection:
            [row] = await connection.fetch(SQL["ensure_mailboxes"], self._key_member, *_columns(entries))
            users = zip(entries, row["mailbox_ids"], strict=True)
            await follow_changed(connection, [(entry.mark.tenant_id, user) for entry, user in users if user])
        return await self._results(entries, row)


def _columns(entries: Sequence[MailboxEntry]) -> Columns:
    """Return the parameters of directory.ensure_mailboxes after the first, in their order."""
    tenants, names, keys = mark_columns([entry.mark for entry in entries])
    return (
        tenants,
        [entry.id for entry in entries],
        names,
        keys,
        [entry.recipient_type for entry in entries],
        [entry.name for entry in entries],
        [entry.display_name for entry in entries],
        [entry.mail for entry in entries],
        [_encode(entry.properties) for entry in entries],
        [_encode(entry.contact) for entry in entries],
        [None if entry.place is None else _encode(entry.place) for entry in entries],
        [entry.resource_capacity for entry in entries],
        [entry.automate_processing for entry in entries],
        [entry.additional_response for entry in entries],
        [entry.automatic_reply for entry in entries],
        [entry.quota_megabytes for entry in entries],
        [entry.is_hidden for entry in entries],
        [_encode({entry.mark.extension: entry.values}) for entry in entries],
        [_encode(entry.aliases) for entry in entries],
        [f"{{{','.join(map(str, entry.owners))}}}" for entry in entries],
        *item_columns([entry.values.items() for entry in entries], width=2),
        *item_columns([[(alias,) for alias in entry.aliases] for entry in entries], width=1),
        *item_columns([[(owner,) for owner in entry.owners] for entry in entries], width=1),
        *item_columns([_permissions(entry) for entry in entries], width=3),
    )


def _permissions(entry: MailboxEntry) -> Sequence[tuple[object, ...]]:
    granted = [(user, one.access_right, one.auto_mapping) for user, one in entry.permissions.items()]
    return [*granted, *((user, None, None) for user in entry.revoked)]


_json = msgspec.json.Encoder()


def _encode(value: object) -> str:
    return _json.encode(value).decode()


def _as_made(entry: MailboxEntry) -> MailboxShown:
    # A newly provisioned mailbox has the desired state, so it is not read back.
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


_decode = msgspec.json.Decoder(MailboxShown).decode

_KIND = Kind(
    observe=_OBSERVE,
    made_at=_MADE_AT,
    decode=_decode,
    as_made=_as_made,
    sentences={
        "userUnknown": "The directory has no user {}. Leave this user out, or add the user to the directory first.",
        "addressTaken": "The address {} belongs to another user, group or mailbox. Choose another name or alias.",
    },
)


class MailboxSummaryShown(msgspec.Struct, frozen=True, rename="camel"):
    """A mailbox in a list.

    `values` are those of the extension attribute in the query.
    """

    id: UUID
    recipient_type: str
    name: str
    display_name: str
    mail: str
    values: dict[str, str]


_decode_summary = msgspec.json.Decoder(MailboxSummaryShown).decode

# No mailbox has this id.
_BEFORE_ALL = UUID(int=0)


async def list_mailboxes(
    pool: Pool, tenant_id: UUID, extension: str, *, behind: UUID | None, until: datetime | None, most: int
) -> Sequence[MailboxSummaryShown]:
    """List at most `most` mailboxes of a tenant by id.

    Their ids are greater than `behind`, and they were created at `until` or before.
    """
    async with one_tenant(pool, tenant_id) as connection:
        rows = await connection.fetch(SQL["list"], tenant_id, extension, behind or _BEFORE_ALL, until, most)
    return [_decode_summary(row["shown"]) for row in rows]


async def mailboxes_by_id(
    pool: Pool, tenant_id: UUID, extension: str, ids: Sequence[UUID], *, until: datetime | None
) -> Sequence[MailboxShown | None]:
    """Read mailboxes of a tenant by id.

    They have the values of this extension attribute. None for an id without a mailbox that was created at
    `until` or before.
    """
    async with one_tenant(pool, tenant_id) as connection:
        rows = await connection.fetch(SQL["mailboxes_by_id"], tenant_id, extension, ids, until)
    return in_order({row["item"]: _decode(row["shown"]) for row in rows}, len(ids))
