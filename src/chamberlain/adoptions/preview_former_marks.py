"""Marks that mailboxes carry under an earlier prefix of their tenant."""

from dataclasses import replace

from chamberlain.directory.port import Adoptions, MailboxPage
from chamberlain.tenants.models import Tenant


async def mailbox_page(directory: Adoptions, tenant: Tenant, cursor: str | None) -> MailboxPage:
    """Read a page of mailboxes, each with its marks under the current prefix and all former ones. Raises TryAgain."""
    page = await directory.mailboxes(tenant.id, f"{tenant.extension_prefix}_mailbox", cursor)
    for prefix in tenant.marked_under:
        older = await directory.mailboxes(tenant.id, f"{prefix}_mailbox", cursor)
        marks = {each.id: each.marks for each in older.mailboxes}
        mailboxes = tuple(replace(each, marks={**marks.get(each.id, {}), **each.marks}) for each in page.mailboxes)
        page = replace(page, mailboxes=mailboxes)
    return page
