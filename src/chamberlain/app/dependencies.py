"""What use cases share, as the file of each noun takes it when it wires them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.app.clock_and_ids import local_now
from chamberlain.app.databases import Databases
from chamberlain.app.directory import held_addresses, make_directory, make_guests, make_people, remembered_people
from chamberlain.app.identity import client_names
from chamberlain.app.processes import running
from chamberlain.app.tracing.wiring import Traces
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import ClientNames
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.database.listener import listen
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Directory, Guests, People
from chamberlain.guests.assignments.store import Assigner
from chamberlain.observability.metrics import submissions_written
from chamberlain.queue.notifier import Notifier
from chamberlain.requests.timeline import REQUESTS_CHANNEL, Timelines, Watchers
from chamberlain.secrets.keyring import Keyring
from chamberlain.settings import Settings
from chamberlain.templates.cache import Catalog, Revisions
from chamberlain.templates.submission import Submitter
from chamberlain.webhooks.sender import Send


@dataclass(frozen=True, slots=True)
class Watching:
    """What watchers look at, and the way to tell them, in all processes, that a request has changed."""

    timelines: Timelines
    notifier: Notifier


@asynccontextmanager
async def running_watching(databases: Databases) -> AsyncIterator[Watching]:
    """Hears of changes for as long as the block runs."""
    address, watchers = databases.addresses.direct, Watchers()
    notifier = Notifier(address, REQUESTS_CHANNEL)
    async with running(listen(address, REQUESTS_CHANNEL, watchers.heard)), running(notifier.run()):
        yield Watching(Timelines(databases.application, watchers), notifier)


@dataclass(frozen=True, slots=True)
class Means:
    """What those use cases share that answer calls. `notifier` wakes workers, `watching` whoever watches a request,
    `send` calls webhooks, `traces` are wrapped around what shall be traced."""

    settings: Settings
    database: Database
    people: People
    authorization: Authorization
    names: ClientNames
    prefixes: ScopePrefixes
    catalog: Catalog
    submitter: Submitter
    assigner: Assigner
    notifier: Notifier
    watching: Watching
    keyring: Keyring
    send: Send
    traces: Traces


@dataclass(frozen=True, slots=True)
class WorkMeans:
    """What those use cases share that do jobs. `notifier` wakes whoever watches a request."""

    settings: Settings
    database: Database
    people: People
    directory: Directory
    guests: Guests
    revisions: Revisions
    notifier: Notifier


@asynccontextmanager
async def made_means(
    settings: Settings,
    databases: Databases,
    *,
    prefixes: ScopePrefixes,
    notifier: Notifier,
    watching: Watching,
    keyring: Keyring,
    send: Send,
    traces: Traces,
) -> AsyncIterator[Means]:
    """The means for as long as the block runs; what is being written at its end is written."""
    database, names = databases.application, client_names(databases)
    catalog, assigner = Catalog(database), traces.assigner(database)
    acceptor = traces.acceptor(database, held_addresses=held_addresses(settings), observe=submissions_written)
    async with remembered_people(settings, database.pool, databases.addresses.direct) as people:
        try:
            yield Means(
                settings=settings,
                database=database,
                people=people,
                authorization=Authorization(database, people, prefixes, local_now, names),
                names=names,
                prefixes=prefixes,
                catalog=catalog,
                submitter=Submitter(database, catalog, acceptor, notifier),
                assigner=assigner,
                notifier=notifier,
                watching=watching,
                keyring=keyring,
                send=send,
                traces=traces,
            )
        finally:
            await acceptor.close()
            await assigner.close()


def make_work_means(settings: Settings, databases: Databases, notifier: Notifier, traces: Traces) -> WorkMeans:
    """The means of a worker, which has a role of its own in the database."""
    pool = databases.worker.pool
    return WorkMeans(
        settings=settings,
        database=databases.worker,
        people=make_people(settings, pool),
        directory=traces.directory(make_directory(settings, pool)),
        guests=traces.guests(make_guests(settings, pool)),
        revisions=Revisions(),
        notifier=notifier,
    )
