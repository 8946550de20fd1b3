"""The mailboxes of one tenant, page by page, for those who see this tenant alone."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Pool, one_tenant
from chamberlain.embedded.directory.mailboxes import MailboxShown

LIST: Final = "SELECT shown FROM directory.list_mailboxes($1, $2, $3, coalesce($4, now()), $5)"

_shown = msgspec.json.Decoder(MailboxShown)


async def list_mailboxes(
    pool: Pool, tenant_id: UUID, extension: str, *, behind: UUID | None, until: datetime | None, most: int
) -> Sequence[MailboxShown]:
    """At most so many, in the order of their ids, behind this one; of those that were made until then."""
    async with one_tenant(pool, tenant_id) as connection:
        rows = await connection.fetch(LIST, tenant_id, extension, behind, until, most)
    return [_shown.decode(row["shown"]) for row in rows]
