# SPDX-License-Identifier: Apache-2.0
"""Entries of the LDAP server: search, add, compare and set, delete.

All other modules read and write entries through this one. Names of attributes are in lower case here, because LDAP does
not distinguish letter case. Values are text (UTF-8).
"""

import asyncio
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, cast
from uuid import UUID

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.opensuite.entry import Entry, Values, comparable, differences, normalized_dn
from chamberlain.directory.opensuite.filters import all_of, any_of, any_value, equal, none_of
from chamberlain.directory.opensuite.ldap import (
    RETRY_BUSY,
    Client,
    Operation,
    Refused,
    Response,
    Result,
    Row,
    Scope,
)
from chamberlain.directory.opensuite.python_ldap import Control

# All attributes of an entry, and the operational ones that the adapter needs. `memberOf` is not one of them: slapd
# searches all groups for it.
ALL_ATTRIBUTES: Final = ("*", "entryUUID", "entryCSN")
# Ids or values in one filter. slapd looks each of them up in an index; a filter of this size has about 6 KB.
BATCH: Final = 100
# Entries per page of a paged search.
PAGE: Final = 500
# Optimistic-lock retries. Ten conflicts in a row mean a bug or an entry that many programs write.
_MOST_RETRIES: Final = 10
# Longest pause after the first conflict; it grows with each. An operation takes 1 to 8 ms (measured by the prototype).
_PAUSE_SECONDS: Final = 0.02

_CONFLICTS: Final = frozenset({Result.ASSERTION_FAILED, Result.ATTRIBUTE_OR_VALUE_EXISTS, Result.NO_SUCH_ATTRIBUTE})

# The position of a paged search belongs to a connection, so a new one does not know it.
_LOST_POSITION: Final = frozenset({Result.PROTOCOL_ERROR, Result.UNWILLING_TO_PERFORM})


class Entries:
    """Reads and writes entries of one server.

    Raises TryAgain, and Refused with the result code of LDAP.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def search(
        self, base: str, filter_: str, *, attributes: Sequence[str] = ALL_ATTRIBUTES, scope: Scope = Scope.SUBTREE
    ) -> tuple[Entry, ...]:
        """Search for few entries, in one response.

        Many of them need `search_all`: servers limit the size of one response. A missing base has no entries.
        """
        try:
            response = await self._client.search(base, scope, filter_, _with_ids(attributes))
        except Refused as fault:
            if fault.result == Result.NO_SUCH_OBJECT:
                return ()
            raise
        return parse_rows(response.rows)

    async def search_all(
        self,
        base: str,
        filter_: str,
        *,
        attributes: Sequence[str] = ALL_ATTRIBUTES,
        keep: Callable[[Entry], bool] = lambda _: True,
    ) -> tuple[Entry, ...]:
        """Search for any number of entries, in pages (RFC 2696).

        `keep` selects entries page by page, so that a large result does not stop other tasks. slapd keeps the position
        of one paged search per connection, so these run one after the other.
        """
        found: list[Entry] = []
        cookie = b""
        async with self._client.paging:
            while True:
                page = await self._search_page(base, filter_, attributes, cookie)
                found.extend(filter(keep, parse_rows(page.rows)))
                cookie = _cookie_of(page)
                if not cookie:
                    return tuple(found)

    async def read(
        self, dn: str, *, within: str = "(objectClass=*)", attributes: Sequence[str] = ALL_ATTRIBUTES
    ) -> Entry | None:
        """Read an entry by its name; None without a match."""
        found = await self.search(dn, within, attributes=attributes, scope=Scope.BASE)
        return found[0] if found else None

    async def read_all(
        self, dns: Iterable[str], *, within: str = "(objectClass=*)", attributes: Sequence[str] = ALL_ATTRIBUTES
    ) -> Mapping[str, Entry]:
        """Read entries by their names, a batch at the same time.

        Missing ones, and those that do not match the filter `within`, are left out. The keys are normalized names
        (`normalized_dn`).
        """
        wanted = {normalized_dn(dn): dn for dn in dns}
        found: list[Entry | None] = []
        # A group can have a hundred thousand members, and each search of them all would be a task.
        for batch in batched(wanted.values()):
            found += await asyncio.gather(*[self.read(dn, within=within, attributes=attributes) for dn in batch])
        return {name: entry for name, entry in zip(wanted, found, strict=True) if entry is not None}

    async def by_ids(
        self,
        base: str,
        ids: Collection[UUID],
        *,
        within: str = "(objectClass=*)",
        attributes: Sequence[str] = ALL_ATTRIBUTES,
    ) -> Mapping[UUID, Entry]:
        """Read entries by entryUUID, in batches, that match the filter `within`."""
        values = [str(each) for each in ids]
        found = await self.by_values(base, "entryUUID", values, within=within, attributes=attributes)
        return {entry.id: entry for entry in found}

    async def by_values(
        self,
        base: str,
        attribute: str,
        values: Collection[str],
        *,
        within: str = "(objectClass=*)",
        attributes: Sequence[str] = ALL_ATTRIBUTES,
    ) -> tuple[Entry, ...]:
        """Read the entries with one of these values, in batches."""
        filters = [all_of(within, any_value(attribute, batch)) for batch in batched(values)]
        found = await asyncio.gather(*[self.search(base, each, attributes=attributes) for each in filters])
        # An entry with values of two batches is in both.
        return tuple({entry.id: entry for entries in found for entry in entries}.values())

    async def add(self, dn: str, values: Values) -> Entry:
        """Add an entry, and return it.

        The server returns id and version with the same response (post-read, RFC 4527). The entry has all values, or it
        does not exist. Raises Refused with ALREADY_EXISTS for a taken name, CONSTRAINT_VIOLATION for a taken unique
        value.
        """
        post_read = self._client.make_control(
            "ldap.controls.readentry", "PostReadControl", criticality=True, attrList=_with_ids(())
        )
        response = await self._client.add(dn, encoded(values), controls=[post_read])
        entry = _added(dn, values, response) or await self.read(dn)
        if entry is None:
            raise TryAgain(RETRY_BUSY, Reason.build("directoryNotAvailable"), Cause.NOT_YET)
        return entry

    async def set(self, dn: str, wanted: Values) -> bool:
        """Set differing attributes of an entry; return whether something differed.

        Attributes that are not in `wanted` stay. Raises Refused with NO_SUCH_OBJECT for a missing entry.
        """
        return await self.update(dn, lambda _: wanted)

    async def update(self, dn: str, decide: Callable[[Entry], Values | None], *, known: Entry | None = None) -> bool:
        """Read an entry, and set values that differ (optimistic lock).

        `decide` is called again with the new state if another program wrote the entry meanwhile. None leaves the entry
        as it is. `known` is the entry if it was just added. Return whether something was written. Raises Refused with
        NO_SUCH_OBJECT for a missing entry.
        """
        for conflicts in range(_MOST_RETRIES):
            # Random, so that concurrent writers do not meet again.
            await asyncio.sleep(conflicts * random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - no secret.
            entry = await self.read(dn) if known is None or conflicts else known
            if entry is None:
                raise Refused(Result.NO_SUCH_OBJECT, "No such object")
            changes = differences(entry, decide(entry) or {})
            if not changes:
                return False
            if await self._replace(entry, changes):
                return True
        raise TryAgain(RETRY_BUSY, Reason.build("directoryBusy"), Cause.BUSY)

    async def add_values(self, dn: str, attribute: str, values: Collection[str]) -> bool:
        """Add missing values to an attribute. Return whether some were missing.

        One operation in the usual case; present values are found out by its failure.
        """
        if not values:
            return False
        try:
            await self._client.modify(dn, [(Operation.ADD, attribute, encoded_all(values))])
        except Refused as fault:
            if fault.result != Result.ATTRIBUTE_OR_VALUE_EXISTS:
                raise
            return await self.update(dn, lambda entry: {attribute: _with(attribute, entry, values)})
        return True

    async def change(self, dn: str, changes: Sequence[tuple[Operation, str, Sequence[str] | None]]) -> None:
        """Apply changes in one atomic operation.

        Raises Refused: ATTRIBUTE_OR_VALUE_EXISTS for an added value that is present, CONSTRAINT_VIOLATION for a second
        value of an attribute with one value, NO_SUCH_ATTRIBUTE for a removed value that is missing.
        """
        listed = [(kind, name, None if values is None else encoded_all(values)) for kind, name, values in changes]
        await self._client.modify(dn, listed)

    async def delete(self, dn: str) -> bool:
        """Delete an entry. Return whether it existed."""
        try:
            await self._client.delete(dn)
        except Refused as fault:
            if fault.result == Result.NO_SUCH_OBJECT:
                return False
            raise
        return True

    async def _search_page(self, base: str, filter_: str, attributes: Sequence[str], cookie: bytes) -> Response:
        paged = self._client.make_control(
            "ldap.controls.libldap", "SimplePagedResultsControl", criticality=True, size=PAGE, cookie=cookie
        )
        try:
            return await self._client.search(base, Scope.SUBTREE, filter_, _with_ids(attributes), controls=[paged])
        except Refused as fault:
            if fault.result == Result.NO_SUCH_OBJECT:
                return Response()
            if cookie and fault.result in _LOST_POSITION:
                raise TryAgain(RETRY_BUSY, Reason.build("directoryNotAvailable"), Cause.AWAY) from fault
            raise

    async def _replace(self, entry: Entry, wanted: Values) -> bool:
        changes = [(Operation.REPLACE, name, encoded_all(values)) for name, values in wanted.items()]
        # The overlay `unique` searches with the controls of the change. So slapd tests the assertion on the base of
        # that search, too.
        unchanged = any_of(equal("entryCSN", entry.version), none_of(equal("entryDN", entry.dn)))
        try:
            await self._client.modify(entry.dn, changes, controls=[self._assertion(unchanged)])
        except Refused as fault:
            if fault.result in _CONFLICTS:
                return False
            raise
        return True

    def _assertion(self, filter_: str) -> Control:
        return self._client.make_control(
            "ldap.controls.libldap", "AssertionControl", criticality=True, filterstr=filter_
        )


class _PostRead(Protocol):
    entry: Mapping[str, Sequence[bytes]] | None


class _Paged(Protocol):
    cookie: bytes | str | None


# Types of response controls (RFC 4527 and RFC 2696).
_POST_READ: Final = "1.3.6.1.1.13.2"
_PAGED: Final = "1.2.840.113556.1.4.319"


def parse_rows(rows: Iterable[Row]) -> tuple[Entry, ...]:
    """Parse rows of a search result.

    Values that are no text, such as photos and certificates, are left out.
    """
    return tuple([entry for row in rows if (entry := parse_row(row)) is not None])


def parse_row(row: Row) -> Entry | None:
    """Parse a row; None if the account may not read its entryUUID."""
    values = {name.lower(): decoded for name, each in row.values.items() if (decoded := _decoded(each)) is not None}
    identifier = values.get("entryuuid")
    if not identifier:
        return None
    return Entry(row.dn, UUID(identifier[0]), "".join(values.get("entrycsn", ())[:1]), values)


def batched(values: Iterable[str]) -> Iterator[list[str]]:
    """Split values into batches for one filter each, without duplicates."""
    listed = list(dict.fromkeys(values))
    return (listed[at : at + BATCH] for at in range(0, len(listed), BATCH))


def encoded(values: Values) -> Mapping[str, Sequence[bytes]]:
    """Encode the values of attributes."""
    return {name: encoded_all(each) for name, each in values.items() if each}


def encoded_all(values: Iterable[str]) -> list[bytes]:
    """Encode values, without duplicates: the server rejects them."""
    return [value.encode() for value in dict.fromkeys(values)]


def _with_ids(attributes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*attributes, "entryUUID", "entryCSN")))


def _decoded(values: Sequence[bytes]) -> tuple[str, ...] | None:
    try:
        return tuple([value.decode() for value in values])
    except UnicodeDecodeError:
        return None


def _with(attribute: str, entry: Entry, added: Collection[str]) -> list[str]:
    known = {comparable(attribute, each) for each in entry.all(attribute)}
    return [*entry.all(attribute), *[each for each in added if comparable(attribute, each) not in known]]


def _cookie_of(page: Response) -> bytes:
    for control in page.controls:
        if control.controlType == _PAGED:
            cookie = cast("_Paged", control).cookie or b""
            return cookie if isinstance(cookie, bytes) else cookie.encode()
    return b""


def _added(dn: str, values: Values, response: Response) -> Entry | None:
    """Return a new entry with its id and version.

    None if the server did not return them.
    """
    for control in response.controls:
        if control.controlType == _POST_READ:
            read = cast("_PostRead", control).entry or {}
            return parse_row(Row(dn, {**encoded(values), **read}, ()))
    return None
