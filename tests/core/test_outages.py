# SPDX-License-Identifier: Apache-2.0
"""Errors of the driver and of the system, and the outage that each of them means."""

import asyncio
import errno
import os
import re
import socket

import asyncpg
import pytest

from chamberlain.core.outages import Outage, outage_of


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (asyncpg.DiskFullError("full"), Outage.DISK_FULL),
        (asyncpg.OutOfMemoryError("full"), Outage.OUT_OF_MEMORY),
        (asyncpg.TooManyConnectionsError("full"), Outage.TOO_MANY_CONNECTIONS),
        (asyncpg.ConfigurationLimitExceededError("full"), Outage.LIMIT_EXCEEDED),
        (asyncpg.InsufficientResourcesError("full"), Outage.DATABASE_DESCRIPTORS),
        (asyncpg.PostgresIOError("disk"), Outage.IO_ERROR),
        (asyncpg.CannotConnectNowError("starting up"), Outage.STARTING),
        (asyncpg.AdminShutdownError("stop"), Outage.STOPPED),
        (asyncpg.CrashShutdownError("crash"), Outage.STOPPED),
        (asyncpg.QueryCanceledError("late"), Outage.NO_ANSWER),
        (asyncpg.ReadOnlySQLTransactionError("standby"), Outage.READ_ONLY),
        (asyncpg.InvalidPasswordError("password"), Outage.SIGN_IN),
        (asyncpg.InvalidAuthorizationSpecificationError("role"), Outage.SIGN_IN),
        (asyncpg.InvalidCatalogNameError("missing"), Outage.MISSING),
        (asyncpg.ConnectionDoesNotExistError("gone"), Outage.LOST),
        (asyncpg.InterfaceError("closed"), Outage.LOST),
        (asyncpg.InternalClientError("closed"), Outage.LOST),
        (asyncpg.InternalServerError("bug"), Outage.OTHER),
        (OSError(errno.ENOSPC, "full"), Outage.DISK_FULL),
        (OSError(errno.EMFILE, "full"), Outage.DESCRIPTORS),
        (OSError(errno.ENFILE, "full"), Outage.DESCRIPTORS),
        (ConnectionRefusedError(errno.ECONNREFUSED, "no"), Outage.REFUSED),
        (FileNotFoundError(errno.ENOENT, "no socket"), Outage.REFUSED),
        (ConnectionResetError(errno.ECONNRESET, "reset"), Outage.LOST),
        (OSError(errno.EHOSTUNREACH, "no way"), Outage.NETWORK),
        (socket.gaierror(socket.EAI_NONAME, "no name"), Outage.NETWORK),
        (TimeoutError(), Outage.NO_ANSWER),
        (OSError("neither number nor cause"), Outage.LOST),
    ],
)
def test_it_works(error: Exception, outage: Outage) -> None:
    assert outage_of(error) is outage


async def test_a_host_with_several_addresses_that_refuse_is_refused() -> None:
    with socket.socket() as first, socket.socket(socket.AF_INET6) as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("::1", first.getsockname()[1]))
        with pytest.raises(OSError, match="Errno") as caught:
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, "localhost", first.getsockname()[1])

    assert outage_of(caught.value) is Outage.REFUSED


def test_the_cause_of_an_error_without_a_code_counts() -> None:
    error = asyncpg.InterfaceError("closed")
    error.__cause__ = OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    assert outage_of(error) is Outage.DESCRIPTORS


@pytest.mark.parametrize("outage", Outage)
def test_each_outage_has_its_own_code_and_sentences(outage: Outage) -> None:
    assert re.fullmatch("[a-z]+([A-Z][a-z]+)*", outage.value)
    assert outage.seen.endswith(".")
    assert outage.cure.endswith((".", "failing."))
    assert [each for each in Outage if each.seen == outage.seen] == [outage]


def test_a_refused_role_and_a_missing_database_do_not_pass_by_themselves() -> None:
    assert [each for each in Outage if not each.passes_by_itself] == [Outage.SIGN_IN, Outage.MISSING]
