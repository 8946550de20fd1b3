"""Marks for what was there before: mailboxes that somebody made without us, and groups."""

from uuid import UUID, uuid4

from chamberlain.core.ids import RequestId
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import Adoptions, Marking
from tests.directory.conftest import Stage
from tests.directory.population import TENANT
from tests.directory.wanted_mailboxes import Make, plain, reference

MAILBOX_EXTENSION, GROUP_EXTENSION = "chamberlain_mailbox", "chamberlain_group"


def marking(object_id: UUID, type_: ObjectType = ObjectType.MAILBOX) -> Marking:
    """The mark of a new request on what is there."""
    extension = MAILBOX_EXTENSION if type_ is ObjectType.MAILBOX else GROUP_EXTENSION
    return Marking(TENANT, type_, object_id, extension, RequestId(uuid4()))


async def made_before(stage: Stage, make: Make = plain) -> ObservedMailbox:
    """A mailbox that carries no mark: one that was made with a mark, which was then taken from it."""
    work = make()
    [outcome] = await stage.directory.ensure_mailboxes([work])
    assert outcome.mailbox is not None
    type_ = ObjectType.MAILBOX
    wanted = Marking(TENANT, type_, outcome.mailbox.id, MAILBOX_EXTENSION, work.wanted.request_id)
    assert await stage.adoptions.unmark([wanted]) == [None]
    assert await stage.directory.observe_mailboxes([reference(work)]) == [None]
    return outcome.mailbox


async def all_of(adoptions: Adoptions) -> dict[UUID, ObservedMailbox]:
    """All mailboxes of the tenant, page by page."""
    page = await adoptions.mailboxes(TENANT, MAILBOX_EXTENSION, None)
    found = list(page.mailboxes)
    while page.cursor is not None:
        page = await adoptions.mailboxes(TENANT, MAILBOX_EXTENSION, page.cursor)
        found += page.mailboxes
    assert len({one.id for one in found}) == len(found)
    return {one.id: one for one in found}
