# SPDX-License-Identifier: Apache-2.0
"""Report the expected errors of starts and database commands."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

from chamberlain.app.data_folder import DataFolderUnusable
from chamberlain.app.databases import DatabaseNotReady, opened_at_hand
from chamberlain.cli.errors import reported_faults
from chamberlain.core.errors import CannotStart, Unavailable
from chamberlain.database.connection import AddressUnusable
from chamberlain.database.migrate import MigrationRefused
from chamberlain.database.transactions import Database
from chamberlain.embedded.postgres import EmbeddedPostgresError
from chamberlain.secrets.keyring import KeysUnusable
from chamberlain.settings import Settings

T = TypeVar("T")

EXPECTED = (
    AddressUnusable,
    DataFolderUnusable,
    DatabaseNotReady,
    EmbeddedPostgresError,
    KeysUnusable,
    MigrationRefused,
    Unavailable,
)


@contextmanager
def expected_faults() -> Iterator[None]:
    """Raise CannotStart for each expected error, with the same message.

    Any other error is a bug.
    """
    try:
        yield
    except EXPECTED as error:
        raise CannotStart(str(error)) from error


def in_database(
    settings: Settings,
    work: Callable[[Database], Awaitable[T]],
    *,
    opened: Callable[[Settings], AbstractAsyncContextManager[Database]] = opened_at_hand,
) -> T:
    """Run a command's work in the database, with the worker's role.

    Expected errors end the command.
    """

    async def run() -> T:
        async with opened(settings) as database:
            return await work(database)

    with reported_faults(), expected_faults():
        return asyncio.run(run())
