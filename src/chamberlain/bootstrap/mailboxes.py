"""The service of mailboxes, and their provisioning."""

from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.mailboxes.provision import MailboxProvisioner
from chamberlain.mailboxes.service import MailboxService


def mailbox_service(means: Means) -> MailboxService:
    """Build the service that the API calls."""
    return MailboxService(
        database=means.database,
        people=means.people,
        authorization=means.authorization,
        catalog=means.catalog,
        submitter=means.submitter,
        timelines=means.watching.timelines,
        new_id=new_id,
        now=now,
    )


def mailbox_provisioner(means: WorkMeans) -> MailboxProvisioner:
    """Build the handler of the worker."""
    return MailboxProvisioner(
        database=means.database,
        people=means.people,
        directory=means.directory,
        revisions=means.revisions,
        notifier=means.notifier,
        new_id=new_id,
        now=now,
    )
