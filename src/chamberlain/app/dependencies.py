# SPDX-License-Identifier: Apache-2.0
"""Build the dependencies of the API and a worker from the settings."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.app.clock_and_ids import local_now, now
from chamberlain.app.connections import Connections, Opener, followed_connections, make_opener
from chamberlain.app.databases import Databases
from chamberlain.app.directory import (
    held_addresses,
    make_adoptions,
    make_changed_tenants,
    make_directory,
    make_guests,
    make_people,
    remembered_people,
)
from chamberlain.app.identity import client_names
from chamberlain.app.processes import running
from chamberlain.app.tracing.traces import Traces
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import ClientNames
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier, Watchers, listen
from chamberlain.database.transactions import Database
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.port import Adoptions, ChangedTenants, Directory, Guests, People
from chamberlain.directory.routed import (
    RoutedAdoptions,
    RoutedChangedTenants,
    RoutedDirectory,
    RoutedGuests,
    RoutedPeople,
)
from chamberlain.events.followers import Followers
from chamberlain.guests.assignments.store import Assigner
from chamberlain.observability.metrics import submissions_written
from chamberlain.requests.timeline import Timelines
from chamberlain.secrets.keyring import Keyring, load_keyring
from chamberlain.settings import Settings
from chamberlain.templates.cache import Catalog, Revisions
from chamberlain.templates.submission import Submitter
from chamberlain.webhooks.addresses import Resolver
from chamberlain.webhooks.sender import Send, Sender


@dataclass(frozen=True, slots=True)
class ApiDependencies:
    """Shared by the services that answer calls.

    `capable` states the capabilities of directories. `workers` notifies workers of new jobs, `watchers` notifies all
    processes of changed requests, `send` calls webhooks. `connections` has the directories of other databases, `opener`
    opens them, and `connected` notifies all processes of changed connections.
    """

    settings: Settings
    database: Database
    people: People
    capable: Capable
    authorization: Authorization
    client_names: ClientNames
    prefixes: ScopePrefixes
    catalog: Catalog
    submitter: Submitter
    assigner: Assigner
    timelines: Timelines
    followers: Followers
    workers: Notifier
    watchers: Notifier
    keyring: Keyring
    connections: Connections
    opener: Opener
    connected: Notifier
    send: Send
    traces: Traces


@dataclass(frozen=True, slots=True)
class WorkerDependencies:
    """Shared by the job handlers.

    `watchers` notifies all processes of changed requests, `connected` of changed connections, and `workers` all workers
    of jobs. `connections` has the directories of other databases, `opener` opens them.
    """

    settings: Settings
    database: Database
    people: People
    directory: Directory
    guests: Guests
    adoptions: Adoptions
    changed: ChangedTenants | None
    connections: Connections
    opener: Opener
    connected: Notifier
    workers: Notifier
    revisions: Revisions
    watchers: Notifier


@asynccontextmanager
async def api_dependencies(
    settings: Settings, databases: Databases, *, prefixes: ScopePrefixes, keyring: Keyring, traces: Traces
) -> AsyncIterator[ApiDependencies]:
    """Open the dependencies of the API for the duration of the block.

    Pending writes finish at its end.
    """
    database, direct = databases.application, databases.addresses.direct
    names = client_names(databases)
    catalog, assigner, watching = Catalog(database), traces.assigner(database), Watchers()
    workers, watchers = Notifier(direct), Notifier(direct, REQUESTS_CHANNEL)
    opener = make_opener(settings, keyring)
    acceptor = traces.acceptor(database, held_addresses=held_addresses(settings), observe=submissions_written)
    async with (
        running(workers.run()),
        running(watchers.run()),
        running(listen(direct, REQUESTS_CHANNEL, watching.heard)),
        webhook_sender(settings) as sender,
        followed_connections(databases.worker, direct, opener) as (connections, connected),
        remembered_people(settings, RoutedPeople(make_people(settings, database.pool), connections), direct) as people,
    ):
        try:
            yield ApiDependencies(
                settings=settings,
                database=database,
                people=people,
                capable=RoutedDirectory(make_directory(settings, database.pool), connections),
                authorization=Authorization(database, people, prefixes, local_now, names),
                client_names=names,
                prefixes=prefixes,
                catalog=catalog,
                submitter=Submitter(
                    database, catalog, acceptor, workers, lambda tenant_id: tenant_id in connections.elsewhere
                ),
                assigner=assigner,
                timelines=Timelines(database, watching),
                followers=Followers(database, watching),
                workers=workers,
                watchers=watchers,
                keyring=keyring,
                connections=connections,
                opener=opener,
                connected=connected,
                send=traces.send(sender.send),
                traces=traces,
            )
        finally:
            await acceptor.close()
            await assigner.close()


@asynccontextmanager
async def worker_dependencies(
    settings: Settings, databases: Databases, watchers: Notifier, traces: Traces
) -> AsyncIterator[WorkerDependencies]:
    """Open the dependencies of a worker for the duration of the block.

    They use the worker's database role.
    """
    pool = databases.worker.pool
    direct = databases.addresses.direct
    opener, workers = make_opener(settings, load_keyring(settings.keys_file)), Notifier(direct)
    changed = make_changed_tenants(settings, pool)
    async with (
        running(workers.run()),
        followed_connections(databases.worker, direct, opener) as (connections, connected),
    ):
        yield WorkerDependencies(
            settings=settings,
            database=databases.worker,
            people=RoutedPeople(make_people(settings, pool), connections),
            directory=traces.directory(RoutedDirectory(make_directory(settings, pool), connections)),
            guests=traces.guests(RoutedGuests(make_guests(settings, pool), connections)),
            adoptions=RoutedAdoptions(make_adoptions(settings, pool), connections),
            changed=None if changed is None else RoutedChangedTenants(changed, connections),
            connections=connections,
            opener=opener,
            connected=connected,
            workers=workers,
            revisions=Revisions(),
            watchers=watchers,
        )


@asynccontextmanager
async def webhook_sender(settings: Settings) -> AsyncIterator[Sender]:
    """Open the HTTP client of webhooks for the duration of the block."""
    sender = Sender(
        resolve=Resolver(),
        allowed_networks=settings.allowed_networks,
        allow_http=settings.webhook_allow_http,
        trust=ssl.create_default_context(),
        now=now,
    )
    try:
        yield sender
    finally:
        await sender.close()
