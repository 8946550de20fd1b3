# SPDX-License-Identifier: Apache-2.0
"""`/groups/delta` and `/users/delta`: all objects, and then those that have changed.

A token contains a cursor of changes.py, the selected properties and its time. It needs no secret, because it is a
position in a list of the caller's own tenant. Its digest detects a token that was cut, changed or taken from another
path.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import blake2b
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.changes import (
    ChangedIds,
    read_changed_groups,
    read_changed_users,
    read_ended_memberships,
    read_latest,
)
from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.errors import BadQuery, CursorUnknown
from chamberlain.embedded.directory.graph import groups, users
from chamberlain.embedded.directory.graph.assigned_plans import ASSIGNED
from chamberlain.embedded.directory.graph.calls import Call, Row, Shape, SyncStateNotFound
from chamberlain.embedded.directory.graph.options import Options, check_select, context_of, read_options
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# The lifetime of a token in Graph, for objects of the directory.
TOKEN_LASTS = timedelta(days=7)
# Entries of a page, unless `Prefer: odata.maxpagesize` asks for fewer. Graph has about as many.
MOST_ENTRIES = 200
# Groups of a page with their members, which can be many.
_MOST_GROUPS_WITH_MEMBERS = 20

_OPTIONS = frozenset({"$select", "$skiptoken", "$deltatoken"})
_LATEST: Final = "latest"
_RELATIONS = frozenset({"members", "owners"})
_DIGEST_BYTES = 12


class _Token(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    cursor: str
    select: tuple[str, ...] | None
    made_at: int


_decoder = msgspec.json.Decoder(_Token)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The properties, statements and encoding of one kind of object."""

    name: str
    resource: str
    properties: frozenset[str]
    changed: Callable[..., Awaitable[ChangedIds]]
    rows: str
    encode: Callable[[Call, Row, Options], Shape]


_GROUPS = _Kind(
    "groups", "group", groups.PROPERTIES | _RELATIONS, read_changed_groups, groups.GROUPS_BY_ID, groups.shape_group
)
# Licences and sign-ins are no part of the log of changes.
_TRACKED = users.PROPERTIES - ASSIGNED - {"signInActivity"}
_USERS = _Kind("users", "user", _TRACKED, read_changed_users, users.USERS_BY_ID, users.shape_user)


async def list_group_changes(call: Call) -> Shape:
    """List a page of all groups, or of those that have changed.

    With `members` or `owners` in `$select`, each group has its current ones, and those who left since the token.
    """
    return await _list(call, _GROUPS)


async def list_user_changes(call: Call) -> Shape:
    """List a page of all users, or of those that have changed."""
    return await _list(call, _USERS)


async def _list(call: Call, kind: _Kind) -> Shape:
    asked = read_options(call.query_string, known=_OPTIONS)
    check_select(asked, kind.properties, kind.resource)
    token = _read_token(call, asked)
    options = asked if token is None else _with_select(asked, token)
    async with call.connected() as connection:
        if asked.delta_token == _LATEST:
            cursor = await read_latest(connection, call.tenant_id)
            return _page(call, kind, options, ChangedIds((), frozenset(), cursor, is_complete=True, since=None), [])
        most = _page_size(call, options)
        try:
            page = await kind.changed(connection, call.tenant_id, None if token is None else token.cursor, most=most)
        except CursorUnknown as error:
            raise _gone(call) from error
        rows = {row["id"]: row for row in await connection.fetch(kind.rows, call.tenant_id, page.current)}
        # An object that was deleted meanwhile is in a later page as removed.
        # As in Graph, the id is always there.
        entries = [{"id": str(each), **kind.encode(call, rows[each], options)} for each in page.current if each in rows]
        if _RELATIONS & {*(options.select or ())} and kind is _GROUPS:
            await _add_relations(call, connection, entries, options, page)
    return _page(call, kind, options, page, entries)


def _page(call: Call, kind: _Kind, options: Options, page: ChangedIds, entries: Sequence[Shape]) -> Shape:
    token = _write_token(call, _Token(page.cursor, options.select, int(call.moment.timestamp())))
    name, parameter = ("@odata.deltaLink", "$deltatoken") if page.is_complete else ("@odata.nextLink", "$skiptoken")
    removed = [{"id": str(each), "@removed": {"reason": "deleted"}} for each in sorted(page.removed)]
    return {
        "@odata.context": context_of(call.root, kind.name, options),
        name: f"{call.root}{call.path}?{parameter}={token}",
        "value": [*entries, *removed],
    }


def _page_size(call: Call, options: Options) -> int:
    most = _MOST_GROUPS_WITH_MEMBERS if _RELATIONS & {*(options.select or ())} else MOST_ENTRIES
    return most if call.page_size is None else max(1, min(most, call.page_size))


async def _add_relations(
    call: Call, connection: Connection, entries: Sequence[Shape], options: Options, page: ChangedIds
) -> None:
    """Add `members@delta` and `owners@delta` to the entries of groups."""
    ids = [UUID(str(entry["id"])) for entry in entries]
    current = await connection.fetch(SQL["memberships_of"], call.tenant_id, ids)
    ended = [] if page.since is None else await read_ended_memberships(connection, call.tenant_id, ids, page.since)
    for name, is_current, has_ended in (("members", "is_member", "has_left"), ("owners", "is_owner", "was_disowned")):
        if name not in (options.select or ()):
            continue
        lists: dict[UUID, list[Shape]] = {each: [] for each in ids}
        for row in current:
            if row[is_current]:
                lists[row["group_id"]].append(_reference(row["member_id"], is_group=row["is_group"]))
        for each in ended:
            if getattr(each, has_ended):
                gone = _reference(each.member_id, is_group=each.is_group)
                lists[each.group_id].append({**gone, "@removed": {"reason": "deleted"}})
        for entry, each_id in zip(entries, ids, strict=True):
            if lists[each_id]:
                entry[f"{name}@delta"] = lists[each_id]


def _reference(member_id: UUID, *, is_group: bool) -> Shape:
    return {"@odata.type": f"#microsoft.graph.{'group' if is_group else 'user'}", "id": str(member_id)}


def _read_token(call: Call, options: Options) -> _Token | None:
    given = [each for each in (options.skip_token, options.delta_token) if each is not None]
    if len(given) > 1:
        raise BadQuery("BadRequest", "A call has one of '$skiptoken' and '$deltatoken'.")
    if not given or given == [_LATEST]:
        return None
    try:
        raw = urlsafe_b64decode(given[0] + "=" * (-len(given[0]) % 4))
        content = raw[_DIGEST_BYTES:]
        token = _decoder.decode(content)
    except ValueError:
        raise _unknown() from None
    if _encoded(raw) != given[0] or raw[:_DIGEST_BYTES] != _digest(call, content):
        raise _unknown()
    if token.made_at + TOKEN_LASTS.total_seconds() < call.moment.timestamp():
        raise _gone(call)
    return token


def _with_select(asked: Options, token: _Token) -> Options:
    if asked.select is not None and asked.select != token.select:
        raise BadQuery("BadRequest", "The token is for other properties than '$select' names.")
    return replace(asked, select=token.select)


def _write_token(call: Call, token: _Token) -> str:
    content = msgspec.json.encode(token)
    return _encoded(_digest(call, content) + content)


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _digest(call: Call, content: bytes) -> bytes:
    binding: Mapping[str, str] = {"tenant": str(call.tenant_id), "path": call.path}
    return blake2b(msgspec.json.encode((binding, content)), digest_size=_DIGEST_BYTES).digest()


def _unknown() -> BadQuery:
    return BadQuery("BadRequest", "The token was not made by this service for this path.")


def _gone(call: Call) -> SyncStateNotFound:
    return SyncStateNotFound(f"{call.root}{call.path}")
