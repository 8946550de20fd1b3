"""What groups and sites let guests do is set and observed here, in batches, by the ids of the groups."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Queryable, answering, one_transaction
from chamberlain.embedded.directory.dynamic_groups import follow_changed
from chamberlain.embedded.directory.entries import Ensured, ensure_storable
from chamberlain.embedded.directory.errors import Refused

# In the order of their ids, so that two who name the same ones never wait for each other crosswise.
_LOCK = """
SELECT u.tenant_id, u.id, u.user_type, u.account_enabled FROM directory.users u
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) ON u.tenant_id = i.tenant_id AND u.id = i.id
ORDER BY u.tenant_id, u.id FOR NO KEY UPDATE OF u
"""
_DISABLE = """
UPDATE directory.users u SET account_enabled = false
FROM unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, id) WHERE u.tenant_id = i.tenant_id AND u.id = i.id
"""
_NOT_A_GUEST = "The user {} is no guest any more and was not disabled."


async def disable_guests(database: Queryable, users: Sequence[tuple[UUID, UUID]]) -> Sequence[Refused | None]:
    """Keep these guests, each named by tenant and id, from signing in; groups whose rules ask for that follow. Whoever
    has no account is passed over; refused is who is no guest (`notAGuest`)."""
    with answering():
        async with one_transaction(database) as connection:
            rows = await connection.fetch(_LOCK, *_user_columns(users))
            others = {(row["tenant_id"], row["id"]) for row in rows if row["user_type"] != "Guest"}
            enabled = {(row["tenant_id"], row["id"]) for row in rows if row["account_enabled"]} - others
            if enabled:
                await connection.execute(_DISABLE, *_user_columns(sorted(enabled)))
                await follow_changed(connection, _by_tenant(enabled))
    return [Refused("notAGuest", _NOT_A_GUEST.format(user[1])) if user in others else None for user in users]


def _user_columns(users: Sequence[tuple[UUID, UUID]]) -> tuple[list[UUID], list[UUID]]:
    return [tenant_id for tenant_id, _ in users], [user_id for _, user_id in users]


def _by_tenant(users: set[tuple[UUID, UUID]]) -> dict[UUID, list[UUID]]:
    found: dict[UUID, list[UUID]] = {}
    for tenant_id, user_id in sorted(users):
        found.setdefault(tenant_id, []).append(user_id)
    return found


@dataclass(frozen=True, slots=True)
class SubjectName:
    """How a group is named here, and which of its extension attributes is asked for."""

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
    """The site of a security group; the capabilities have the suite's words (see estate.py)."""

    web_url: str
    display_name: str
    sharing_capability: str
    default_sharing_capability: str


class GuestShown(msgspec.Struct, frozen=True, rename="camel"):
    """A guest who owns the group or is in it. `last_seen_at` is when they were last active, as far as it is known."""

    id: UUID
    mail: str | None
    display_name: str
    is_owner: bool
    last_seen_at: datetime | None


class SubjectShown(msgspec.Struct, frozen=True, rename="camel"):
    """A group as it is, as far as it has to do with guests. `values` are those of the extension attribute that was
    asked for; `settings` are None while the tenant's default holds. `owners` counts the users who own it."""

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
    """What shall become of a group. What the three facts leave out stays as it is.

    `values` are set in its extension attribute, those that are None cleared. Without `settings` the tenant's default is
    restored, without a `sharing_capability` the site's own; a group without a site has nothing to share. `removed` are
    taken out of the group, as far as they are guests; those whom its membership rule would bring back stay, and so does
    the last owner.
    """

    name: SubjectName
    values: Mapping[str, str | None] = field(default_factory=dict)
    sets_access: bool = False
    sets_domains: bool = False
    sets_sharing: bool = False
    settings: GuestSettings | None = None
    sharing_capability: str | None = None
    removed: Collection[UUID] = ()


_shown = msgspec.json.Decoder(SubjectShown)

_OBSERVE = "SELECT item, shown FROM directory.observe_subjects($1, $2, $3)"
_ENSURE = """
SELECT directory.ensure_guest_rules($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
"""
_MADE_AT = """
SELECT i.item, g.created_at FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS i (tenant_id, id, item)
JOIN directory.groups g ON g.tenant_id = i.tenant_id AND g.id = i.id
"""
_SENTENCES = {
    "groupUnknown": "The directory has no group {}. It may have been removed meanwhile.",
}


class Guests:
    """The rules for guests of all tenants, for those who may change them."""

    def __init__(self, database: Queryable) -> None:
        self._database = database

    async def observe(self, names: Sequence[SubjectName]) -> Sequence[SubjectShown | None]:
        """What there is of each; None where there is no such group."""
        if not names:
            return []
        with answering():
            rows = await self._database.fetch(_OBSERVE, *_columns_of_names(names))
        shown = {item: _shown.decode(text) for item, text in rows}
        return [shown.get(item) for item in range(1, len(names) + 1)]

    async def made_at(self, names: Sequence[SubjectName]) -> Sequence[datetime | None]:
        """When each group was made; None where there is no such group."""
        tenants, ids, _ = _columns_of_names(names)
        with answering():
            rows = await self._database.fetch(_MADE_AT, tenants, ids)
        made: dict[int, datetime] = {row[0]: row[1] for row in rows}
        return [made.get(item) for item in range(1, len(names) + 1)]

    async def ensure(self, entries: Sequence[GuestEntry]) -> Sequence[Ensured[SubjectShown]]:
        """Bring each about, whole or not at all; the possible ones in one transaction. No group may come twice."""
        return await ensure_storable(entries, self._ensure)

    async def disable(self, users: Sequence[tuple[UUID, UUID]]) -> Sequence[Refused | None]:
        """Keep these guests, each named by tenant and id, from signing in. Whoever has no account is passed over;
        refused is who is no guest (`notAGuest`)."""
        return await disable_guests(self._database, users) if users else []

    async def _ensure(self, entries: Sequence[GuestEntry]) -> Sequence[Ensured[SubjectShown]]:
        with answering():
            [[faults]] = await self._database.fetch(_ENSURE, *_columns(entries))
        shown = await self.observe([entry.name for entry in entries])
        return [
            Ensured(one, None if code is None else Refused(code, _SENTENCES[code].format(entry.name.id)))
            for entry, one, code in zip(entries, shown, faults, strict=True)
        ]


def decode_subject(text: str) -> SubjectShown:
    """A group as the functions of the database write it."""
    return _shown.decode(text)


def _columns_of_names(names: Sequence[SubjectName]) -> tuple[list[UUID], list[UUID], list[str]]:
    return [one.tenant_id for one in names], [one.id for one in names], [one.extension for one in names]


def _columns(entries: Sequence[GuestEntry]) -> tuple[Sequence[object], ...]:
    """The parameters of directory.ensure_guest_rules, in their order."""
    settings = [entry.settings for entry in entries]
    return (
        *_columns_of_names([entry.name for entry in entries]),
        [entry.sets_access for entry in entries],
        [entry.sets_domains for entry in entries],
        [entry.sets_sharing for entry in entries],
        [one is not None for one in settings],
        [one and one.allow_to_add_guests for one in settings],
        [one and one.guests_added_by for one in settings],
        [one and _written(one.allowed_guest_domains) for one in settings],
        [one and _written(one.blocked_guest_domains) for one in settings],
        [entry.sharing_capability for entry in entries],
        *_values(entries),
        *_removals(entries),
    )


def _values(entries: Sequence[GuestEntry]) -> tuple[Sequence[object], ...]:
    rows = [(item, *pair) for item, entry in enumerate(entries, 1) for pair in entry.values.items()]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _removals(entries: Sequence[GuestEntry]) -> tuple[Sequence[object], ...]:
    rows = [(item, user) for item, entry in enumerate(entries, 1) for user in entry.removed]
    return [row[0] for row in rows], [row[1] for row in rows]


def _written(texts: Sequence[str]) -> str:
    """Texts as PostgreSQL writes an array of them: arrays of different lengths fit into no array."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"
