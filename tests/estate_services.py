# SPDX-License-Identifier: Apache-2.0
"""The use cases of an estate, built from what they have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
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

Service = TypeVar("Service")


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The shared dependencies of the use cases of one process."""

    databases: Databases
    people: People
    directory: Directory
    catalog: Catalog
    submitter: Submitter
    prefixes: ScopePrefixes
    now: Callable[[], datetime]


def group_service(dependencies: Dependencies) -> GroupService:
    """Build the service of groups."""
    return _service(GroupService, dependencies)


def mailbox_service(dependencies: Dependencies) -> MailboxService:
    """Build the service of mailboxes."""
    return _service(MailboxService, dependencies)


def _service(kind: Callable[..., Service], dependencies: Dependencies) -> Service:
    """Build a service of requests. Those of groups and mailboxes have the same parameters."""
    return kind(
        database=dependencies.databases.application,
        people=dependencies.people,
        capable=dependencies.directory,
        authorization=Authorization(
            dependencies.databases.application, dependencies.people, dependencies.prefixes, dependencies.now
        ),
        catalog=dependencies.catalog,
        submitter=dependencies.submitter,
        timelines=Timelines(dependencies.databases.application, Watchers()),
        new_id=uuid4,
        now=dependencies.now,
    )


def provision_groups(dependencies: Dependencies) -> GroupProvisioner:
    """Makes groups."""
    return GroupProvisioner(
        database=dependencies.databases.worker,
        people=dependencies.people,
        directory=dependencies.directory,
        revisions=Revisions(),
        guest_rules=NewGroupRules(uuid4, dependencies.now),
        notifier=Notifier(dependencies.databases.addresses.application, REQUESTS_CHANNEL),
        new_id=uuid4,
        now=dependencies.now,
    )


def provision_mailboxes(dependencies: Dependencies) -> MailboxProvisioner:
    """Makes mailboxes."""
    return MailboxProvisioner(
        database=dependencies.databases.worker,
        people=dependencies.people,
        directory=dependencies.directory,
        revisions=Revisions(),
        notifier=Notifier(dependencies.databases.addresses.application, REQUESTS_CHANNEL),
        new_id=uuid4,
        now=dependencies.now,
    )
