# SPDX-License-Identifier: Apache-2.0
"""Marks for existing mailboxes and groups."""

from dataclasses import fields
from uuid import UUID, uuid4

from chamberlain.core.ids import RequestId
from chamberlain.directory.mailboxes import MailboxSummary, ObservedMailbox
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import Adoptions, Marking
from tests.directory.conftest import Adapter
from tests.directory.mailbox_work import Make, plain, reference
from tests.directory.sample_directory import TENANT

MAILBOX_EXTENSION, GROUP_EXTENSION = "chamberlain_mailbox", "chamberlain_group"


def marking(object_id: UUID, type_: ObjectType = ObjectType.MAILBOX) -> Marking:
    """Return the mark of a new request for an existing object."""
    extension = MAILBOX_EXTENSION if type_ is ObjectType.MAILBOX else GROUP_EXTENSION
    return Marking(TENANT, type_, object_id, extension, RequestId(uuid4()))


async def made_before(adapter: Adapter, make: Make = plain) -> ObservedMailbox:
    """Create a mailbox and remove its mark."""
    work = make()
    [outcome] = await adapter.directory.ensure_mailboxes([work])
    assert outcome.observed is not None
    type_ = ObjectType.MAILBOX
    wanted = Marking(TENANT, type_, outcome.observed.id, MAILBOX_EXTENSION, work.wanted.request_id)
    assert await adapter.adoptions.unmark([wanted]) == [None]
    assert await adapter.directory.observe_mailboxes([reference(work)]) == [None]
    return outcome.observed


async def all_of(adoptions: Adoptions) -> dict[UUID, ObservedMailbox]:
    """List all mailboxes of the tenant, and observe each."""
    page = await adoptions.mailboxes(TENANT, MAILBOX_EXTENSION, None)
    found = {one.id: one for one in page.mailboxes}
    while page.cursor is not None:
        page = await adoptions.mailboxes(TENANT, MAILBOX_EXTENSION, page.cursor)
        found |= {one.id: one for one in page.mailboxes}
    shown = await adoptions.observe(TENANT, MAILBOX_EXTENSION, list(found))
    for summary, one in zip(found.values(), shown, strict=True):
        assert one is not None
        values = {each.name: getattr(one, each.name) for each in fields(MailboxSummary)}
        assert summary == MailboxSummary(**values)
    return {one.id: one for one in shown if one is not None}
