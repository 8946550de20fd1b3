# SPDX-License-Identifier: Apache-2.0
"""Opens the open suite of a tenant as ports.

Nothing is connected before the first call. All clients belong to one event loop.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import httpx2

from chamberlain.core.errors import ConnectionBroken, Rejected
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory import port
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.opensuite.adoptions import SuiteAdoptions
from chamberlain.directory.opensuite.capabilities import suite_capabilities
from chamberlain.directory.opensuite.changes import SuiteChanges
from chamberlain.directory.opensuite.check import Bases, Calendar, Servers, check_servers, naming, require_settings
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.groups import Groups
from chamberlain.directory.opensuite.guests import SuiteGuests
from chamberlain.directory.opensuite.layout import Layout
from chamberlain.directory.opensuite.ldap import Client
from chamberlain.directory.opensuite.lookups import SuiteLookups
from chamberlain.directory.opensuite.mailboxes import Mailboxes
from chamberlain.directory.opensuite.mailstore import Mailstore
from chamberlain.directory.opensuite.matrix import TIMEOUT_SECONDS, Matrix
from chamberlain.directory.opensuite.people import SuitePeople
from chamberlain.directory.opensuite.rooms import Rooms
from chamberlain.directory.opensuite.settings import (
    SuiteSettings,
    SuiteSettingsInvalid,
    read_suite,
    settings_version,
)
from chamberlain.directory.opensuite.sogo_cache import SogoCache
from chamberlain.directory.opensuite.teams import Teams
from chamberlain.directory.routed import Adapters
from chamberlain.http_client import open_http_client

__all__ = ["Suite", "SuiteSettingsInvalid", "open_suite", "read_suite", "settings_version"]

_NO_ID: Final = UUID(int=0)
# Connections to Dovecot, Matrix and SOGo together. Each client limits its own calls below that.
_MOST_CONNECTIONS: Final = 64
_BROKEN_FOR: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, eq=False)
class Suite:
    """An open directory.

    `close` ends its connections. Running calls fail with TryAgain. The clients are for the answers of resources.
    """

    adapters: Adapters
    close: Callable[[], Awaitable[None]]
    settings: SuiteSettings
    entries: Entries
    mailstore: Mailstore
    http: httpx2.AsyncClient


class SuiteDirectory(port.Directory):
    """Groups and mailboxes of one tenant, for the worker."""

    def __init__(self, groups: Groups, mailboxes: Mailboxes, capabilities: Capabilities) -> None:
        self._groups = groups
        self._mailboxes = mailboxes
        self._capabilities = capabilities

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:  # noqa: ARG002 - one tenant.
        """Return the capabilities of this suite."""
        return self._capabilities

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Observe each group."""
        return await self._groups.observe(references)

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        """Provision each group."""
        return await self._groups.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Observe each mailbox."""
        return await self._mailboxes.observe(references)

    async def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Sequence[port.MailboxOutcome]:
        """Provision each mailbox."""
        return await self._mailboxes.ensure(works)


def open_suite(settings: SuiteSettings) -> Suite:
    """Build the ports of a suite."""
    ldap, http = Client(settings.ldap), open_http_client(TIMEOUT_SECONDS, most_connections=_MOST_CONNECTIONS)
    entries, layout = Entries(ldap), settings.layout
    matrix = None if settings.homeserver is None else Matrix(http, settings.homeserver)
    rooms = None if matrix is None else Rooms(matrix)
    memcached = settings.calendar.memcached
    cache = None if memcached is None else SogoCache(*memcached)
    teams, mailstore = Teams(entries, layout, rooms), Mailstore(http, settings.mail)
    mailboxes = Mailboxes(entries, mailstore, layout, cache)
    changes = SuiteChanges(ldap, layout, f"{settings.ldap.url}/{settings.root}")
    guests = SuiteGuests(entries, layout, teams, rooms, changes)
    people = SuitePeople(entries, layout)
    capabilities = suite_capabilities(has_teams=rooms is not None, forgets_addresses=cache is not None)
    directory = SuiteDirectory(Groups(entries, layout, teams), mailboxes, capabilities)
    servers = _servers(settings, ldap, mailstore, matrix, http)

    async def close() -> None:
        await ldap.close()
        await http.aclose()

    return Suite(
        adapters=Adapters(
            people=people,
            directory=directory,
            guests=guests,
            adoptions=SuiteAdoptions(entries, layout, mailboxes, changes),
            subjects=guests,
            check=_Check(layout, entries, people, directory, mailstore, servers),
            lookups=SuiteLookups(entries, layout),
        ),
        close=close,
        settings=settings,
        entries=entries,
        mailstore=mailstore,
        http=http,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Check:
    """Asks each server once. Raises ConnectionBroken and TryAgain."""

    layout: Layout
    entries: Entries
    people: SuitePeople
    directory: SuiteDirectory
    mailstore: Mailstore
    servers: Servers

    async def __call__(self, tenant_id: TenantId) -> None:
        try:
            await self._ask(tenant_id)
        except Rejected as error:
            raise _unusable(error.detail) from error

    async def _ask(self, tenant_id: TenantId) -> None:
        async with naming("The LDAP server"):
            for branch in (self.layout.people, self.layout.groups, self.layout.mailboxes):
                if await self.entries.read(branch.base, attributes=["entryUUID"]) is None:
                    raise _unusable(f"The directory has no entry {branch.base}, or hides it from the account.")
            # Nothing has this id and name. Each call fails if the server refuses the account.
            await self.people.look_up(PeopleQuestion(tenant_id, users=frozenset({UserId(_NO_ID)})))
            await self.directory.observe([GroupReference(tenant_id, "chamberlain_group", RequestId(_NO_ID))])
            mailbox = MailboxReference(tenant_id, "chamberlain_mailbox", RequestId(_NO_ID))
            await self.directory.observe_mailboxes([mailbox])
        async with naming("Dovecot"):
            await self.mailstore.check()
        require_settings(await check_servers(self.servers))


def _unusable(problem: str) -> ConnectionBroken:
    return ConnectionBroken(_BROKEN_FOR, Reason.build("suiteSettingsUnusable", problem=problem))


def _servers(
    settings: SuiteSettings, ldap: Client, mailstore: Mailstore, matrix: Matrix | None, http: httpx2.AsyncClient
) -> Servers:
    sogo = settings.calendar
    calendar = None if sogo.url is None or sogo.account is None else Calendar(sogo.url, *sogo.account)
    return Servers(
        ldap=ldap,
        bases=Bases(settings.root, settings.layout.people.base, settings.layout.mailboxes.base),
        files=mailstore,
        whoami=None if matrix is None else matrix.whoami,
        http=http,
        submission=settings.submission,
        calendar=calendar,
        dovecot_file=settings.dovecot_file,
    )
