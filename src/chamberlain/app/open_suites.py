# SPDX-License-Identifier: Apache-2.0
"""Wire bookings and conversations to the open suites of tenants."""

from collections.abc import Callable
from dataclasses import dataclass

from chamberlain.app.clock_and_ids import new_id, now
from chamberlain.app.connections import Connections
from chamberlain.app.dependencies import WorkerDependencies
from chamberlain.bookings import jobs as booking_jobs
from chamberlain.bookings.caldav import CalDav, CalendarServer
from chamberlain.bookings.open_suite import DoveadmInboxes, LdapResources, SmtpOutbox
from chamberlain.bookings.port import BookingServers
from chamberlain.conversations import jobs as conversation_jobs
from chamberlain.conversations.matrix import MatrixMessenger, bot_of
from chamberlain.conversations.port import Messenger
from chamberlain.conversations.service import ConversationService
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.directory.opensuite.connection import Suite
from chamberlain.directory.opensuite.matrix import Matrix
from chamberlain.notifications.mail_server import MailServer, Protection, Sender, SmtpAddress


@dataclass(frozen=True, slots=True)
class OpenSuites:
    """The servers of open suites, as the jobs use them."""

    connections: Connections

    async def find_servers(self, tenant_id: TenantId) -> BookingServers | None:
        """Return the servers of a tenant's resources.

        None without an open suite that can be used now, and without the settings of its calendar and mail servers.
        """
        suite = self.connections.suite_of(tenant_id)
        return None if suite is None else _booking_servers(suite)

    async def find_messenger(self, tenant_id: TenantId) -> Messenger | None:
        """Return the bot of a tenant. None without a Matrix server."""
        suite = self.connections.suite_of(tenant_id)
        server = None if suite is None else suite.settings.homeserver
        if suite is None or server is None:
            return None
        return MatrixMessenger(Matrix(suite.http, server, bot_of(server)), suite.entries, suite.settings.layout)


def make_booking_jobs(shared: WorkerDependencies) -> booking_jobs.BookingJobs:
    """Build the jobs of resources."""
    return booking_jobs.BookingJobs(shared.database, OpenSuites(shared.connections).find_servers, now)


def make_conversation_jobs(
    shared: WorkerDependencies, link_of: Callable[[TenantId, RequestId], str | None]
) -> conversation_jobs.ConversationJobs:
    """Build the jobs of conversations.

    `link_of` returns the address of the page to decide on a request.
    """
    service = ConversationService(shared.database, shared.people, shared.workers, shared.watchers, link_of, new_id, now)
    return conversation_jobs.ConversationJobs(shared.database, service, OpenSuites(shared.connections).find_messenger)


def _booking_servers(suite: Suite) -> BookingServers | None:
    settings = suite.settings
    calendar, transfer = settings.calendar, settings.transfer
    if calendar.url is None or calendar.account is None or transfer is None:
        return None
    host, port = transfer
    # In the network of the operator, where the servers trust each other (mynetworks).
    address = SmtpAddress(host, port, Protection.OFFERED, None, None)
    # Each reply has its own sender. This one names the service at the connection.
    sender = Sender("", calendar.account[0] if "@" in calendar.account[0] else f"{calendar.account[0]}@{host}")
    return BookingServers(
        resources=LdapResources(suite.entries, settings.layout, calendar.time_zone),
        inboxes=DoveadmInboxes(suite.mailstore),
        calendars=CalDav(suite.http, CalendarServer(f"{calendar.url}/SOGo/dav", *calendar.account)),
        outbox=SmtpOutbox(MailServer(address, sender)),
    )
