# SPDX-License-Identifier: Apache-2.0
"""The adoption port: lists existing mailboxes and marks existing objects."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import WRITTEN_ID, RequestId, TenantId
from chamberlain.directory.embedded.mailboxes import mailbox_summary_of, observed_mailbox_of
from chamberlain.directory.embedded.mapping import KEY_MEMBER, METADATA_MEMBER, mark_of, port_errors, rejected
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import MOST_CHANGES, Adoptions, MailboxChanges, MailboxPage, Marking
from chamberlain.embedded.directory import markings as directory_markings
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.embedded.directory.faults import Injection
from chamberlain.embedded.directory.mailboxes import list_mailboxes, mailboxes_by_id
from chamberlain.embedded.directory.markings import MarkedObject, Markings


class EmbeddedAdoptions(Adoptions):
    """Lists mailboxes of one tenant with any role.

    Marks need the worker's role. `is_elsewhere` is true of another database than that of the service.
    """

    def __init__(self, pool: Pool, *, is_elsewhere: bool = False) -> None:
        self._pool = pool
        self._changes = Changes(pool, is_elsewhere=is_elsewhere)
        self._markings = {
            ObjectType.MAILBOX: Markings(pool, directory_markings.MAILBOXES, key_member=KEY_MEMBER),
            ObjectType.GROUP: Markings(
                pool, directory_markings.GROUPS, key_member=KEY_MEMBER, further_members=(METADATA_MEMBER,)
            ),
        }

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """Read the next page of mailboxes."""
        return await self._page(tenant_id, extension, cursor, until=None)

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        """Read the state of mailboxes by id."""
        return await self._observe(tenant_id, extension, ids, until=None)

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        """Read the next page of changed and deleted mailboxes."""
        try:
            with port_errors():
                shown = await self._changes.read_mailboxes(
                    tenant_id, extensions, cursor, key_member=KEY_MEMBER, most=MOST_CHANGES
                )
        except CursorUnknown as error:
            raise Rejected("cursorUnknown", str(error)) from error
        # Other programs can write other texts into the member.
        request_ids = [RequestId(UUID(mark)) for mark in shown.marks if WRITTEN_ID.fullmatch(mark)]
        return MailboxChanges(tuple(request_ids), shown.cursor, shown.is_complete)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Add all marks, in one transaction for mailboxes and one for groups."""
        faults: dict[tuple[ObjectType, UUID], Rejected | None] = {}
        for kept, of_type in self._by_type(markings):
            with port_errors():
                refused = await kept.mark([_object_of(one) for one in of_type])
            for one, each in zip(of_type, refused, strict=True):
                faults[one.type, one.id] = None if each is None else rejected(each)
        return [faults[one.type, one.id] for one in markings]

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Remove all marks."""
        for kept, of_type in self._by_type(markings):
            with port_errors():
                await kept.unmark([_object_of(one) for one in of_type])
        return [None] * len(markings)

    def _by_type(self, markings: Sequence[Marking]) -> Iterator[tuple[Markings, Sequence[Marking]]]:
        for type_, kept in self._markings.items():
            of_type = [one for one in markings if one.type is type_]
            if of_type:
                yield kept, of_type

    async def _page(
        self, tenant_id: TenantId, extension: str, cursor: str | None, *, until: datetime | None
    ) -> MailboxPage:
        if cursor is not None and not WRITTEN_ID.fullmatch(cursor):
            raise Rejected("cursorUnknown", "The directory does not know this cursor. Begin again without one.")
        behind = None if cursor is None else UUID(cursor)
        with port_errors():
            shown = await list_mailboxes(
                self._pool, tenant_id, extension, behind=behind, until=until, most=MOST_CHANGES
            )
        more = len(shown) == MOST_CHANGES
        return MailboxPage(tuple([mailbox_summary_of(one) for one in shown]), str(shown[-1].id) if more else None)

    async def _observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID], *, until: datetime | None
    ) -> Sequence[ObservedMailbox | None]:
        with port_errors():
            shown = await mailboxes_by_id(self._pool, tenant_id, extension, ids, until=until)
        return [None if one is None else observed_mailbox_of(one) for one in shown]


class FaultyAdoptions(EmbeddedAdoptions):
    """Adds and removes each mark in a separate call, with injected faults."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        super().__init__(pool)
        self._injection = injection

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """Read the next page of visible mailboxes."""
        with port_errors():
            self._injection.answer()
        return await self._page(tenant_id, extension, cursor, until=self._injection.visible_until())

    async def observe(
        self, tenant_id: TenantId, extension: str, ids: Sequence[UUID]
    ) -> Sequence[ObservedMailbox | None]:
        """Read the state of visible mailboxes by id."""
        with port_errors():
            self._injection.answer()
        return await self._observe(tenant_id, extension, ids, until=self._injection.visible_until())

    async def changed_mailboxes(
        self, tenant_id: TenantId, extensions: Sequence[str], cursor: str | None
    ) -> MailboxChanges:
        """Read the next page of changed and deleted mailboxes."""
        with port_errors():
            self._injection.answer()
        return await super().changed_mailboxes(tenant_id, extensions, cursor)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Add the marks one by one; each has its own fault."""
        change = super().mark
        return [await self._change(one, change) for one in markings]

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Remove the marks one by one; each has its own fault."""
        change = super().unmark
        return [await self._change(one, change) for one in markings]

    async def _change(
        self,
        marking: Marking,
        change: Callable[[Sequence[Marking]], Awaitable[Sequence[OutsideFault | None]]],
    ) -> OutsideFault | None:
        try:
            with port_errors():
                self._injection.take_call()
                [made_at] = await self._markings[marking.type].made_at([_object_of(marking)])
                # An object that does not exist is refused below.
                if made_at is not None:
                    self._injection.require_known(made_at)
            [result] = await change([marking])
        except TryAgain as fault:
            return fault
        return result


def _object_of(marking: Marking) -> MarkedObject:
    return MarkedObject(marking.id, mark_of(marking))
