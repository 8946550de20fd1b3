"""List mailboxes, newest first: those that the caller asked for, owns or has a permission on, or all of a tenant's."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.mailbox_records import MailboxFilter, MailboxRecord
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.store import mailbox_lists
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListMailboxes:
    """Gives a page of those that the caller may see and the filter names."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, wanted: MailboxFilter, page: PageWanted) -> Page[MailboxRecord]:
        """Raises Forbidden when somebody who is no administrator has only the permission of one."""
        reader = await self.authorization.reader(caller, Operation.READ_MAILBOXES)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await mailbox_lists.find_page(tx, wanted, reader=reader, page=page)
