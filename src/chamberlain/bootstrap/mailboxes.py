"""The use cases of mailboxes, for callers and for workers."""

from chamberlain.api.services import Mailboxes
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.usecases.mailbox_list import ListMailboxes
from chamberlain.usecases.mailbox_provision import ProvisionMailboxes
from chamberlain.usecases.mailbox_read import ReadMailbox
from chamberlain.usecases.mailbox_request import RequestMailbox


def mailbox_services(means: Means) -> Mailboxes:
    """What the API may ask about mailboxes."""
    request = RequestMailbox(
        database=means.database,
        people=means.people,
        authorization=means.authorization,
        catalog=means.catalog,
        submitter=means.submitter,
        new_id=new_id,
        now=now,
    )
    return Mailboxes(
        request=request,
        rehearse=request.rehearse,
        read=ReadMailbox(means.database, means.authorization),
        list=ListMailboxes(means.database, means.authorization),
    )


def mailbox_work(means: WorkMeans) -> ProvisionMailboxes:
    """What a worker does about them."""
    return ProvisionMailboxes(
        database=means.database,
        people=means.people,
        directory=means.directory,
        revisions=means.revisions,
        notifier=means.notifier,
        new_id=new_id,
        now=now,
    )
