"""The use cases of an estate, built from what they have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from chamberlain.auth.authorization import Authorization
from chamberlain.directory.port import Directory, People
from chamberlain.rules.permissions import ScopePrefixes
from chamberlain.store.catalog import Catalog
from chamberlain.store.notifier import Notifier
from chamberlain.store.revisions import Revisions
from chamberlain.store.submit import Submitter
from chamberlain.store.watchers import REQUESTS_CHANNEL
from chamberlain.usecases.group_provision import ProvisionGroups
from chamberlain.usecases.group_request import RequestGroup
from chamberlain.usecases.mailbox_provision import ProvisionMailboxes
from chamberlain.usecases.mailbox_request import RequestMailbox
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


def request_group(means: Means) -> RequestGroup:
    """Takes orders of groups."""
    return RequestGroup(
        database=means.databases.application,
        people=means.people,
        authorization=Authorization(means.databases.application, means.people, means.prefixes, means.now),
        catalog=means.catalog,
        submitter=means.submitter,
        new_id=uuid4,
        now=means.now,
    )


def request_mailbox(means: Means) -> RequestMailbox:
    """Takes orders of mailboxes."""
    return RequestMailbox(
        database=means.databases.application,
        people=means.people,
        authorization=Authorization(means.databases.application, means.people, means.prefixes, means.now),
        catalog=means.catalog,
        submitter=means.submitter,
        new_id=uuid4,
        now=means.now,
    )


def provision_groups(means: Means) -> ProvisionGroups:
    """Makes groups."""
    return ProvisionGroups(
        database=means.databases.worker,
        people=means.people,
        directory=means.directory,
        revisions=Revisions(),
        notifier=Notifier(means.databases.addresses.application, REQUESTS_CHANNEL),
        new_id=uuid4,
        now=means.now,
    )


def provision_mailboxes(means: Means) -> ProvisionMailboxes:
    """Makes mailboxes."""
    return ProvisionMailboxes(
        database=means.databases.worker,
        people=means.people,
        directory=means.directory,
        revisions=Revisions(),
        notifier=Notifier(means.databases.addresses.application, REQUESTS_CHANNEL),
        new_id=uuid4,
        now=means.now,
    )
