"""The use cases of an estate, built from what they have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier, Watchers
from chamberlain.directory.port import Directory, People
from chamberlain.groups.provision import GroupProvisioner
from chamberlain.groups.service import GroupService
from chamberlain.guests.assignments.service import NewGroupRules
from chamberlain.mailboxes.provision import MailboxProvisioner
from chamberlain.mailboxes.service import MailboxService
from chamberlain.requests.timeline import Timelines
from chamberlain.templates.cache import Catalog, Revisions
from chamberlain.templates.submission import Submitter
from tests.databases import Databases


@dataclass(frozen=True, slots=True)
class Means:
    """What the use cases of one process share."""

    databases: Databases
    people: People
    directory: Directory
    catalog: Catalog
    submitter: Submitter
    prefixes: ScopePrefixes
    now: Callable[[], datetime]


def group_service(means: Means) -> GroupService:
    """Build the service of groups."""
    return GroupService(
        database=means.databases.application,
        people=means.people,
        authorization=Authorization(means.databases.application, means.people, means.prefixes, means.now),
        catalog=means.catalog,
        submitter=means.submitter,
        timelines=Timelines(means.databases.application, Watchers()),
        new_id=uuid4,
        now=means.now,
    )


def mailbox_service(means: Means) -> MailboxService:
    """Build the service of mailboxes."""
    return MailboxService(
        database=means.databases.application,
        people=means.people,
        authorization=Authorization(means.databases.application, means.people, means.prefixes, means.now),
        catalog=means.catalog,
        submitter=means.submitter,
        timelines=Timelines(means.databases.application, Watchers()),
        new_id=uuid4,
        now=means.now,
    )


def provision_groups(means: Means) -> GroupProvisioner:
    """Makes groups."""
    return GroupProvisioner(
        database=means.databases.worker,
        people=means.people,
        directory=means.directory,
        revisions=Revisions(),
        guest_rules=NewGroupRules(uuid4, means.now),
        notifier=Notifier(means.databases.addresses.application, REQUESTS_CHANNEL),
        new_id=uuid4,
        now=means.now,
    )


def provision_mailboxes(means: Means) -> MailboxProvisioner:
    """Makes mailboxes."""
    return MailboxProvisioner(
        database=means.databases.worker,
        people=means.people,
        directory=means.directory,
        revisions=Revisions(),
        notifier=Notifier(means.databases.addresses.application, REQUESTS_CHANNEL),
        new_id=uuid4,
        now=means.now,
    )
