"""Read a mailbox: one that the caller asked for, owns or has a permission on, or any of the tenant's."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import NotFound
from chamberlain.rules.ids import MailboxId
from chamberlain.rules.mailbox_records import MailboxRecord
from chamberlain.rules.permissions import Operation
from chamberlain.store import mailboxes
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReadMailbox:
    """Gives a mailbox whole, to those who may see it. For all others it does not exist."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, mailbox_id: MailboxId) -> MailboxRecord:
        """Raises NotFound; Forbidden when somebody who is no administrator has only the permission of one."""
        reader = await self.authorization.reader(caller, Operation.READ_MAILBOXES)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await mailboxes.find(tx, mailbox_id, reader=reader)
        if record is None:
            raise NotFound("There is no such mailbox, or it is not yours to read.")
        return record
