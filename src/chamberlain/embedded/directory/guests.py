# SPDX-License-Identifier: Apache-2.0
"""Reads and sets the guest rules of groups and sites in batches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Queryable, database_errors, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_changed
from chamberlain.embedded.directory.entries import Columns, Ensured, ensure_storable, in_order, item_columns
from chamberlain.embedded.directory.errors import Refused
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class SubjectName:
    """The id of a group, and the extension attribute to read."""

    tenant_id: UUID
    id: UUID
    extension: str


class GuestSettings(msgspec.Struct, frozen=True, rename="camel"):
    """A group's own settings. `guests_added_by` is `members`, `owners` or `administrators`."""

    allow_to_add_guests: bool
    guests_added_by: str
    allowed_guest_domains: tuple[str, ...]
    blocked_guest_domains: tuple[str, ...]


class SiteShown(msgspec.Struct, frozen=True, rename="camel"):
    """The site of a security group; estate.py lists the sharing capabilities."""

    web_url: str
    display_name: str
    sharing_capability: str
    default_sharing_capability: str


class GuestShown(msgspec.Struct, frozen=True, rename="camel"):
    """A guest who is an owner or member of the group.

    `last_seen_at` is the last activity, if it is known.
    """

    id: UUID
    mail: str | None
    display_name: str
    is_owner: bool
    last_seen_at: datetime | None


class SubjectShown(msgspec.Struct, frozen=True, rename="camel"):
    """A group and its guests.

    `values` are those of the extension attribute in the query. `settings` are None while the tenant's default applies.
    `owners` is the number of users who own the group.
    """

    tenant_id: UUID
    id: UUID
    display_name: str
    mail: str | None
    visibility: str
    is_dynamic: bool
    is_team: bool
    values: dict[str, str]
    settings: GuestSettings | None
    site: SiteShown | None
    guests: tuple[GuestShown, ...]
    owners: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestEntry:
    """The desired guest rules of a group.

    The `sets_` flags select the parts to change. `values` are set in the group's extension attribute; those that are
    None are cleared. Without `settings` the tenant's default applies again, and without a `sharing_capability` the
    site's default. A group without a site has no sharing. Guests in `removed` leave the group. The last owner stays,
    and so do guests whom the membership rule would add again.
    """

    name: SubjectName
    values: Mapping[str, str | None] = field(default_factory=dict)
    sets_access: bool = False
    sets_domains: bool = False
    sets_sharing: bool = False
    settings: GuestSettings | None = None
    sharing_capability: str | None = None
    removed: Collection[UUID] = ()


decode_subject = msgspec.json.Decoder(SubjectShown).decode

_SENTENCES = {
    "groupUnknown": "The directory has no group {}. It may have been removed meanwhile.",
    "notAGuest": "The user {} is no longer a guest and was not disabled.",
}


class Guests:
    """The guest rules of all tenants. Needs the worker's role."""

    def __init__(self, database: Queryable) -> None:
        self._database = database

    async def observe(self, names: Sequence[SubjectName]) -> Sequence[SubjectShown | None]:
        """Read the state of each group.

        None for a group that does not exist.
        """
        if not names:
            return []
        with database_errors():
            rows = await self._database.fetch(SQL["observe_subjects"], *_name_columns(names))
        return in_order({item: decode_subject(text) for item, text in rows}, len(names))

    async def made_at(self, names: Sequence[SubjectName]) -> Sequence[datetime | None]:
        """Read the creation time of each group.

        None for a group that does not exist.
        """
        tenants, ids, _ = _name_columns(names)
        with database_errors():
            rows = await self._database.fetch(SQL["guest_rule_created_at"], tenants, ids)
        return in_order({row["item"]: row["created_at"] for row in rows}, len(names))

    async def ensure(self, entries: Sequence[GuestEntry]) -> Sequence[Ensured[SubjectShown]]:
        """Change each group, entirely or not at all.

        The possible ones in one transaction. Groups must be unique.
        """
        return await ensure_storable(entries, self._ensure)

    async def disable(self, users: Sequence[tuple[UUID, UUID]]) -> Sequence[Refused | None]:
        """Disable the accounts of guests, and update dynamic groups.

        Guests are given by tenant and id. Users without an account are skipped. Refused (`notAGuest`) for users who are
        not guests.
        """
        if not users:
            return []
        async with one_transaction(self._database) as connection:
            rows = await connection.fetch(SQL["lock_users"], *_user_columns(users))
            others = {(row["tenant_id"], row["id"]) for row in rows if row["user_type"] != "Guest"}
            enabled = sorted({(row["tenant_id"], row["id"]) for row in rows if row["account_enabled"]} - others)
            if enabled:
                await connection.execute(SQL["disable"], *_user_columns(enabled))
                await follow_changed(connection, enabled)
        refusals = {user: Refused("notAGuest", _SENTENCES["notAGuest"].format(user[1])) for user in others}
        return [refusals.get(user) for user in users]

    async def _ensure(self, entries: Sequence[GuestEntry]) -> Sequence[Ensured[SubjectShown]]:
        with database_errors():
            [[faults]] = await self._database.fetch(SQL["ensure_guest_rules"], *_columns(entries))
        shown = await self.observe([entry.name for entry in entries])
        return [
            Ensured(one, None if code is None else Refused(code, _SENTENCES[code].format(entry.name.id)))
            for entry, one, code in zip(entries, shown, faults, strict=True)
        ]


def _name_columns(names: Sequence[SubjectName]) -> Columns:
    return [name.tenant_id for name in names], [name.id for name in names], [name.extension for name in names]


def _user_columns(users: Sequence[tuple[UUID, UUID]]) -> Columns:
    return [tenant_id for tenant_id, _ in users], [user_id for _, user_id in users]


def _columns(entries: Sequence[GuestEntry]) -> Columns:
    """Return the parameters of directory.ensure_guest_rules, in their order."""
    settings = [entry.settings for entry in entries]
    return (
        *_name_columns([entry.name for entry in entries]),
        [entry.sets_access for entry in entries],
        [entry.sets_domains for entry in entries],
        [entry.sets_sharing for entry in entries],
        [one is not None for one in settings],
        [one and one.allow_to_add_guests for one in settings],
        [one and one.guests_added_by for one in settings],
        [one and _array_literal(one.allowed_guest_domains) for one in settings],
        [one and _array_literal(one.blocked_guest_domains) for one in settings],
        [entry.sharing_capability for entry in entries],
        *item_columns([entry.values.items() for entry in entries], width=2),
        *item_columns([[(user,) for user in entry.removed] for entry in entries], width=1),
    )


def _array_literal(texts: Sequence[str]) -> str:
    """Encode texts as a PostgreSQL array literal.

    An array cannot contain arrays of different lengths.
    """
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"
