"""Build the dependencies of the API and a worker from the settings."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.app.clock_and_ids import local_now, now
from chamberlain.app.databases import Databases
from chamberlain.app.directory import held_addresses, make_directory, make_guests, make_people, remembered_people
from chamberlain.app.identity import client_names
from chamberlain.app.processes import running
from chamberlain.app.tracing.traces import Traces
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import ClientNames
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier, Watchers, listen
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Directory, Guests, People
from chamberlain.guests.assignments.store import Assigner
from chamberlain.observability.metrics import submissions_written
from chamberlain.requests.timeline import Timelines
from chamberlain.secrets.keyring import Keyring
from chamberlain.settings import Settings
from chamberlain.templates.cache import Catalog, Revisions
from chamberlain.templates.submission import Submitter
from chamberlain.webhooks.addresses import Resolver
from chamberlain.webhooks.sender import Send, Sender


@dataclass(frozen=True, slots=True)
class ApiDependencies:
    """Shared by the services that answer calls.

    `workers` notifies workers of new jobs, `watchers` notifies all processes of changed requests, `send` calls
    webhooks.
    """

    settings: Settings
    database: Database
    people: People
    authorization: Authorization
    client_names: ClientNames
    prefixes: ScopePrefixes
    catalog: Catalog
    submitter: Submitter
    assigner: Assigner
    timelines: Timelines
    workers: Notifier
    watchers: Notifier
    keyring: Keyring
    send: Send
    traces: Traces


@dataclass(frozen=True, slots=True)
class WorkerDependencies:
    """Shared by the job handlers. `watchers` notifies all processes of changed requests."""

    settings: Settings
    database: Database
    people: People
    directory: Directory
    guests: Guests
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
    acceptor = traces.acceptor(database, held_addresses=held_addresses(settings), observe=submissions_written)
    async with (
        running(workers.run()),
        running(watchers.run()),
        running(listen(direct, REQUESTS_CHANNEL, watching.heard)),
        webhook_sender(settings) as sender,
        remembered_people(settings, database.pool, direct) as people,
    ):
        try:
            yield ApiDependencies(
                settings=settings,
                database=database,
                people=people,
                authorization=Authorization(database, people, prefixes, local_now, names),
                client_names=names,
                prefixes=prefixes,
                catalog=catalog,
                submitter=Submitter(database, catalog, acceptor, workers),
                assigner=assigner,
                timelines=Timelines(database, watching),
                workers=workers,
                watchers=watchers,
                keyring=keyring,
                send=traces.send(sender.send),
                traces=traces,
            )
        finally:
            await acceptor.close()
            await assigner.close()


def worker_dependencies(
    settings: Settings, databases: Databases, watchers: Notifier, traces: Traces
) -> WorkerDependencies:
    """Build the dependencies of a worker, with the worker's database role."""
    pool = databases.worker.pool
    return WorkerDependencies(
        settings=settings,
        database=databases.worker,
        people=make_people(settings, pool),
        directory=traces.directory(make_directory(settings, pool)),
        guests=traces.guests(make_guests(settings, pool)),
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
