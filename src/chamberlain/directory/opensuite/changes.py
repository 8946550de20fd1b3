# SPDX-License-Identifier: Apache-2.0
"""Scans of groups, and changes by LDAP Sync (RFC 4533).

A cursor has cookies of the server, which belong to the whole database. So it is valid in every process, but only for
this server: a tenant that gets another one is scanned. One response has all changes; pages are cut here, in the order
of the ids.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.core.errors import ConnectionBroken, Rejected
from chamberlain.core.ids import GroupId, PolicyId, RequestId, TemplateId, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.core.text import clean_line
from chamberlain.directory.opensuite.entries import Entries, batched
from chamberlain.directory.opensuite.entry import Entry
from chamberlain.directory.opensuite.filters import all_of, any_of, any_value
from chamberlain.directory.opensuite.groups import member_ship_type_of
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, Branch, Layout, id_in, marks_of
from chamberlain.directory.opensuite.ldap import RETRY_BROKEN, Client, Refused, Result, Row, Scope
from chamberlain.directory.opensuite.members import display_name_of
from chamberlain.directory.opensuite.rules import NOTHING
from chamberlain.directory.opensuite.sync import Refresh, parse_refresh, request_control
from chamberlain.directory.port import MOST_CHANGES, MailboxChanges, SubjectChanges
from chamberlain.directory.subjects import SubjectSummary, SubjectType

_UNKNOWN: Final = "The directory does not know this cursor. Read all groups again."
# A cookie that the server cannot use: of another server, older than its log, or newer than its restored data.
_UNUSABLE: Final = frozenset({Result.PROTOCOL_ERROR, Result.UNWILLING_TO_PERFORM, Result.SYNC_REFRESH_REQUIRED})
# No attributes (RFC 4511, 4.5.1.8): the controls have the ids.
_NO_ATTRIBUTES: Final = ("1.1",)
# Accounts with a time of their last sign-in (`lastbind on`).
_SIGNED_IN: Final = "(pwdLastSuccess=*)"
# Responses that are kept between their pages. Two of a hundred thousand ids each take about 20 MB.
_MOST_KEPT: Final = 2


class _Cursor(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A position in the changes of a tenant.

    `since` is the cookie up to which all changes were returned, None during a scan. Between pages, `until` is the
    cookie of the first page, and `after` the last id returned.
    """

    source: str
    tenant: UUID
    since: bytes | None = None
    until: bytes | None = None
    after: UUID | None = None


_cursors = msgspec.json.Decoder(_Cursor)


@dataclass(frozen=True, slots=True)
class _Changed:
    """Sorted ids of one response. `cookie` is the position after it."""

    ids: Sequence[UUID]
    removed: Sequence[UUID]
    cookie: bytes | None


@dataclass(frozen=True, slots=True)
class _Page:
    ids: Sequence[UUID]
    removed: Sequence[UUID]
    cursor: str
    is_complete: bool


class SuiteChanges:
    """Groups of one tenant and their changes, and changed mailboxes.

    `source` identifies the server and its database in cursors.
    """

    def __init__(self, client: Client, layout: Layout, source: str) -> None:
        self._client = client
        self._entries = Entries(client)
        self._layout = layout
        self._source = source
        self._kept: OrderedDict[tuple[str, bytes | None, bytes | None], _Changed] = OrderedDict()

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """Read the next page of groups or their changes.

        slapd reports all deletions, so `removed` can have ids of other deleted entries as well.
        """
        place = self._place(tenant_id, cursor)
        page = await self._page(self._layout.groups, place)
        found = await self._read(self._layout.groups, page.ids)
        return SubjectChanges(
            subjects=tuple([self._summary(tenant_id, extension, found[each]) for each in page.ids if each in found]),
            removed=tuple(map(GroupId, await self._without_accounts(page.removed))),
            cursor=page.cursor,
            is_complete=page.is_complete,
        )

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        """Read the next page of changed and deleted mailboxes, as `Adoptions.changed_mailboxes` does.

        LDAP does not tell created entries from changed ones, so they are reported as well. The marks of deleted ones
        are in the access log of slapd (`logold`); without it, the nightly check finds them.
        """
        place = self._place(tenant_id, cursor)
        if place.since is None:
            return MailboxChanges((), _written(self._next(place, await self._position())), is_complete=True)
        page = await self._page(self._layout.mailboxes, place)
        present = await self._read(self._layout.mailboxes, page.ids)
        entries = [*present.values(), *await self._deleted(page.removed)]
        requests = [_request_id(entry, extensions) for entry in entries]
        found = dict.fromkeys(each for each in requests if each is not None)
        return MailboxChanges(tuple(found), page.cursor, page.is_complete)

    async def _without_accounts(self, removed: Sequence[UUID]) -> Sequence[UUID]:
        """Leave out accounts.

        slapd reports each change outside the branch as a deletion, also that by a sign-in.
        """
        people = self._layout.people
        accounts = await self._entries.by_ids(
            people.base, removed, within=any_of(_SIGNED_IN, people.filter), attributes=["entryUUID"]
        )
        return [each for each in removed if each not in accounts]

    async def _page(self, branch: Branch, place: _Cursor) -> _Page:
        changed = await self._changed(branch, place)
        until = place.until or changed.cookie or place.since
        start = 0 if place.after is None else bisect_right(changed.ids, place.after)
        ids = changed.ids[start : start + MOST_CHANGES]
        is_complete = start + MOST_CHANGES >= len(changed.ids)
        if is_complete:
            self._kept.pop((branch.base, place.since, until), None)
            following = self._next(place, until)
        else:
            self._keep((branch.base, place.since, until), changed)
            following = _Cursor(place.source, place.tenant, place.since, until, ids[-1])
        removed = changed.removed if place.since is not None and place.after is None else ()
        return _Page(ids, removed, _written(following), is_complete)

    async def _changed(self, branch: Branch, place: _Cursor) -> _Changed:
        """Return the changes of the first page, or request them.

        Another process asks again: the response has the same ids and perhaps more, and `until` stays.
        """
        if place.until is not None:
            kept = self._kept.get((branch.base, place.since, place.until))
            if kept is not None:
                return kept
        refresh = await self._refresh(branch.base, Scope.SUBTREE, branch.filter, place.since)
        removed = sorted(set(refresh.removed))
        return _Changed(sorted(set(refresh.changed).difference(removed)), removed, refresh.cookie)

    async def _position(self) -> bytes | None:
        """Return the cookie for later changes. No entry matches this search."""
        refresh = await self._refresh(self._layout.mailboxes.base, Scope.BASE, NOTHING, None)
        return refresh.cookie

    async def _refresh(self, base: str, scope: Scope, filter_: str, since: bytes | None) -> Refresh:
        control = request_control(since)
        try:
            response = await self._client.search(base, scope, filter_, _NO_ATTRIBUTES, controls=[control])
        except Refused as fault:
            if fault.result == Result.UNAVAILABLE_CRITICAL_EXTENSION:
                raise _no_sync() from fault
            if since is not None and fault.result in _UNUSABLE:
                raise Rejected("cursorUnknown", _UNKNOWN) from fault
            raise
        refresh = parse_refresh(response)
        if since is not None and not refresh.knows_removed:
            raise Rejected("cursorUnknown", _UNKNOWN)
        return refresh

    async def _read(self, branch: Branch, ids: Collection[UUID]) -> Mapping[UUID, Entry]:
        names = self._layout.names
        # Members are not part of a summary. A group can have thousands of them.
        attributes = (
            "objectClass", names.display_name, names.nickname, names.name, names.mail, names.member_ship, names.room,
            REQUEST_ID, MARK,
        )  # fmt: skip
        return await self._entries.by_ids(branch.base, ids, within=branch.filter, attributes=attributes)

    async def _deleted(self, ids: Collection[UUID]) -> list[Entry]:
        """Return deleted entries with their marks, as the access log has them."""
        found: list[Entry] = []
        if self._layout.log is None:
            return found
        for batch in batched(map(str, ids)):
            deletions = all_of("(objectClass=auditDelete)", any_value("reqEntryUUID", batch))
            try:
                response = await self._client.search(
                    self._layout.log, Scope.ONE_LEVEL, deletions, ("reqOld", "reqDN", "reqEntryUUID")
                )
            except Refused:
                # The server has no such log, or the account may not read it.
                return found
            found += [entry for row in response.rows if (entry := parse_deletion(row)) is not None]
        return found

    def _summary(self, tenant_id: TenantId, extension: str, entry: Entry) -> SubjectSummary:
        names, marks = self._layout.names, marks_of(entry, extension)
        mail = entry.one(names.mail)
        request_id, template_id, policy_id = (id_in(marks, each) for each in ("requestId", "templateId", "policyId"))
        return SubjectSummary(
            tenant_id=tenant_id,
            id=GroupId(entry.id),
            type=SubjectType.GROUP,
            display_name=clean_line(display_name_of(entry, self._layout)),
            mail=None if mail is None else clean_line(mail),
            is_team=entry.one(names.room) is not None,
            member_ship_type=member_ship_type_of(entry, self._layout),
            request_id=None if request_id is None else RequestId(request_id),
            template_id=None if template_id is None else TemplateId(template_id),
            policy_id=None if policy_id is None else PolicyId(policy_id),
        )

    def _place(self, tenant_id: TenantId, cursor: str | None) -> _Cursor:
        """Decode a cursor. Raises Rejected for one of another tenant or server."""
        if cursor is None:
            return _Cursor(self._source, tenant_id)
        try:
            place = _cursors.decode(cursor)
        except (msgspec.MsgspecError, ValueError) as error:
            raise Rejected("cursorUnknown", _UNKNOWN) from error
        if (place.source, place.tenant) != (self._source, tenant_id):
            raise Rejected("cursorUnknown", _UNKNOWN)
        return place

    def _next(self, place: _Cursor, since: bytes | None) -> _Cursor:
        return _Cursor(place.source, place.tenant, since)

    def _keep(self, key: tuple[str, bytes | None, bytes | None], changed: _Changed) -> None:
        self._kept[key] = changed
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


def parse_deletion(row: Row) -> Entry | None:
    """Parse the old values of a deleted entry; None without its id.

    Each value is written as `name: value`.
    """
    found = {name.lower(): values for name, values in row.values.items()}
    identifier = b"".join(found.get("reqentryuuid", [])[:1])
    if not identifier:
        return None
    values: dict[str, tuple[str, ...]] = {}
    for old in found.get("reqold", []):
        name, _, value = old.decode(errors="replace").partition(": ")
        values[name.lower()] = (*values.get(name.lower(), ()), value)
    dn = b"".join(found.get("reqdn", [])[:1]).decode(errors="replace")
    return Entry(dn, UUID(identifier.decode()), "", values)


def _request_id(entry: Entry, extensions: Sequence[str]) -> RequestId | None:
    """Return the request in the mark under one of these extensions."""
    if entry.one(REQUEST_ID) is None:
        return None
    for extension in extensions:
        found = id_in(marks_of(entry, extension), "requestId")
        if found is not None:
            return RequestId(found)
    return None


def _written(cursor: _Cursor) -> str:
    return msgspec.json.encode(cursor).decode()


def _no_sync() -> ConnectionBroken:
    problem = "The LDAP server reports no changes. Load the overlay syncprov there."
    return ConnectionBroken(RETRY_BROKEN, Reason.build("connectionBroken", problem=problem))
