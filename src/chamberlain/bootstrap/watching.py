"""Watching requests, wired: one connection listens for everybody in this process who watches one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chamberlain.bootstrap.databases import Databases
from chamberlain.bootstrap.processes import running
from chamberlain.store.listener import listen
from chamberlain.store.notifier import Notifier
from chamberlain.store.timelines import Timelines
from chamberlain.store.watchers import REQUESTS_CHANNEL, Watchers


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
