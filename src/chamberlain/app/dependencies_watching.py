"""Watching requests, wired: one connection listens for everybody in this process who watches one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.app.databases import Databases
from chamberlain.app.processes import running
from chamberlain.database.listener import listen
from chamberlain.queue.notifier import Notifier
from chamberlain.requests.timeline_timelines import Timelines
from chamberlain.requests.timeline_watchers import REQUESTS_CHANNEL, Watchers


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
