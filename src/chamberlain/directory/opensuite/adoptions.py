# SPDX-License-Identifier: Apache-2.0
"""Lists the mailboxes of a tenant, and marks existing mailboxes and groups.

A mark is the only value of one attribute, so that the server refuses a second one. It is set and removed in one
operation with the name of its extension attribute.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from chamberlain.core.errors import Cause, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import WRITTEN_ID, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.models import ObjectType
from chamberlain.directory.opensuite.attributes import MAILBOX_CLASS, MANAGED_CLASS, MANAGED_GROUP_CLASS
from chamberlain.directory.opensuite.changes import SuiteChanges
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, Branch, Layout, has_other_marks, mark_values
from chamberlain.directory.opensuite.ldap import RETRY_BUSY, Operation, Refused, Result
from chamberlain.directory.opensuite.mailboxes import Mailboxes
from chamberlain.directory.opensuite.observed_mailboxes import mailbox_summary
from chamberlain.directory.port import MOST_CHANGES, Adoptions, MailboxChanges, MailboxPage, Marking

# Classes that permit marks.
_CLASSES: Final = (MANAGED_CLASS, MAILBOX_CLASS, MANAGED_GROUP_CLASS)
# The metadata of a group's request. They leave with its mark.
_METADATA: Final = "metadata="
# Optimistic-lock retries. Ten conflicts in a row mean a bug or an entry that many programs write.
_MOST_RETRIES: Final = 10
_CONFLICTS: Final = frozenset({Result.ATTRIBUTE_OR_VALUE_EXISTS, Result.NO_SUCH_ATTRIBUTE, Result.NO_SUCH_OBJECT})

# One change of an entry (RFC 4511, 4.6).
_Change = tuple[Operation, str, Sequence[str] | None]
# Returns the changes that an entry needs, none of a marked one. Raises Rejected.
_Decide = Callable[[Marking, Entry | None], Sequence[_Change]]


class SuiteAdoptions(Adoptions):
    """Existing mailboxes and groups of one tenant."""

    def __init__(self, entries: Entries, layout: Layout, mailboxes: Mailboxes, changes: SuiteChanges) -> None:
        self._entries = entries
        self._layout = layout
        self._mailboxes = mailboxes
        self._changes = changes

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:  # noqa: ARG002
        """Read the next page of mailboxes in the order of their ids.

        LDAP has no such order, so each page reads all ids. The cursor is the last id of a page, for every process.
        """
        if cursor is not None and not WRITTEN_ID.fullmatch(cursor):
            raise Rejected("cursorUnknown", "The directory does not know this cursor. Begin again without one.")
        branch = self._layout.mailboxes
        found = await self._entries.search_all(branch.base, branch.filter, attributes=["entryUUID"])
        behind = None if cursor is None else UUID(cursor)
        left = sorted(entry.id for entry in found if behind is None or entry.id > behind)
        page = left[:MOST_CHANGES]
        read = await self._read(page)
        summaries = [mailbox_summary(read[each], self._layout.names, extension) for each in page if each in read]
        return MailboxPage(tuple(summaries), str(page[-1]) if len(left) > len(page) else None)

    async def observe(
        self,
        tenant_id: TenantId,  # noqa: ARG002 - one tenant.
        extension: str,
        ids: Sequence[UUID],
    ) -> Sequence[ObservedMailbox | None]:
        """Read the state of mailboxes by id."""
        read = await self._read(ids)
        observed = await self._mailboxes.observe_entries([(entry, extension) for entry in read.values()])
        return [observed.get(each) for each in ids]

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        """Read the next page of changed and deleted mailboxes."""
        return await self._changes.changed_mailboxes(tenant_id, extensions, cursor)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Set each mark."""
        return await asyncio.gather(*[self._apply(each, marked) for each in markings])

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Remove exactly this mark from each object."""
        return await asyncio.gather(*[self._apply(each, unmarked) for each in markings])

    async def _read(self, ids: Sequence[UUID]) -> dict[UUID, Entry]:
        branch = self._layout.mailboxes
        return dict(await self._entries.by_ids(branch.base, ids, within=branch.filter))

    async def _apply(self, marking: Marking, decide: _Decide) -> OutsideFault | None:
        """Change the marks of one object, with retries after conflicts."""
        try:
            for _ in range(_MOST_RETRIES):
                if await self._try(marking, decide):
                    return None
        except (TryAgain, Rejected) as fault:
            return fault
        return TryAgain(RETRY_BUSY, Reason.build("directoryBusy"), Cause.BUSY)

    async def _try(self, marking: Marking, decide: _Decide) -> bool:
        branch = self._branch(marking.type)
        found = await self._entries.by_ids(branch.base, [marking.id], within=branch.filter)
        entry = found.get(marking.id)
        changes = decide(marking, entry)
        if entry is None or not changes:
            return True
        try:
            await self._entries.change(entry.dn, changes)
        except Refused as refused:
            if refused.result == Result.CONSTRAINT_VIOLATION:
                await self._require_unmarked(marking)
            elif refused.result not in _CONFLICTS:
                raise
            return False
        return True

    async def _require_unmarked(self, marking: Marking) -> None:
        """Raise Rejected if another object has the mark.

        Servers may keep it unique.
        """
        base = self._branch(marking.type).base
        found = await self._entries.by_values(base, REQUEST_ID, [str(marking.request_id)], attributes=["entryUUID"])
        if any(entry.id != marking.id for entry in found):
            raise Rejected("alreadyManaged", f"Another object than {marking.id} has the mark of this request.")

    def _branch(self, object_type: ObjectType) -> Branch:
        match object_type:
            case ObjectType.MAILBOX:
                return self._layout.mailboxes
            case ObjectType.GROUP:
                return self._layout.groups


def marked(marking: Marking, entry: Entry | None) -> Sequence[_Change]:
    """Return the changes that set a mark.

    Raises Rejected for a missing entry, and for one with another mark.
    """
    if entry is None:
        raise Rejected("gone", f"The directory does not have {marking.id} any more.")
    present = entry.one(REQUEST_ID)
    is_other = present is not None and UUID(present) != marking.request_id
    if is_other or has_other_marks(entry, marking.extension):
        raise Rejected("alreadyManaged", f"{marking.id} has the mark of another request.")
    extension = [each for each in mark_values({}, marking.extension) if each not in entry.all(MARK)]
    changes: list[_Change] = []
    if not any(entry.is_of(each) for each in _CLASSES):
        changes.append((Operation.ADD, "objectClass", [MANAGED_CLASS]))
    if extension:
        changes.append((Operation.ADD, MARK, extension))
    if present is None:
        changes.append((Operation.ADD, REQUEST_ID, [str(marking.request_id)]))
    return changes


def unmarked(marking: Marking, entry: Entry | None) -> Sequence[_Change]:
    """Return the changes that remove a mark.

    There are none for an entry without it.
    """
    if entry is None or has_other_marks(entry, marking.extension):
        return ()
    present = entry.one(REQUEST_ID)
    if present is None or UUID(present) != marking.request_id:
        return ()
    own = mark_values({}, marking.extension)
    metadata = [each for each in entry.all(MARK) if each.startswith(_METADATA)]
    # Marks of assigned guest rules stay, and with them the name of their extension.
    has_others = any(each not in own and each not in metadata for each in entry.all(MARK))
    left = [*metadata, *([] if has_others else [each for each in entry.all(MARK) if each in own])]
    removed: list[_Change] = [(Operation.DELETE, REQUEST_ID, [present])]
    return [*removed, (Operation.DELETE, MARK, left)] if left else removed
