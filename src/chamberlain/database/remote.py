# SPDX-License-Identifier: Apache-2.0
"""A small pool to another database than that of the service."""

import ssl
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import asyncpg

from chamberlain.core.errors import ConnectionBroken
from chamberlain.core.reasons import Reason
from chamberlain.database.connection import (
    AddressUnusable,
    Hosts,
    LeanConnection,
    NewConnection,
    OutageRecord,
    WatchfulPool,
)

# Most connections of one pool. A tenant's directory has other users, too.
MOST_CONNECTIONS = 4
# Timeout of a statement. A directory that takes longer is away.
ANSWERED_WITHIN = timedelta(seconds=10)
# Seconds after which an idle connection is closed.
_IDLE_FOR = 60.0
# A broken connection is tried again at the earliest after the first check of it.
_BROKEN_FOR = timedelta(minutes=1)
# The driver's sentence for a server without TLS; the error has no class or number of its own.
_NO_TLS = "rejected SSL upgrade"


async def open_remote_pool(address: Callable[[], str], *, name: str) -> WatchfulPool:
    """Open a pool that connects when it is needed. PostgreSQL shows `name`.

    `address` returns the address with the password for each new connection, so that a new password needs no restart.
    It is called in the event loop. Calls raise ConnectionBroken if the server has no TLS that the address accepts.
    """

    async def connect(dsn: str | None = None, **options: Any) -> NewConnection:  # noqa: ANN401, ARG001 - the driver's pool calls it, with options of the driver.
        hosts = Hosts(address())
        try:
            return await hosts.connect(**options)
        except (AddressUnusable, ssl.SSLCertVerificationError) as error:
            raise _tls_refused() from error
        except ConnectionError as error:
            if _NO_TLS in str(error):
                raise _tls_refused() from error
            raise

    return await WatchfulPool(
        OutageRecord(name),
        connect=connect,
        min_size=0,
        max_size=MOST_CONNECTIONS,
        max_queries=50_000,
        max_inactive_connection_lifetime=_IDLE_FOR,
        loop=None,
        record_class=asyncpg.Record,
        connection_class=LeanConnection,
        command_timeout=ANSWERED_WITHIN.total_seconds(),
        server_settings={"application_name": name, "jit": "off"},
    )


def _tls_refused() -> ConnectionBroken:
    return ConnectionBroken(_BROKEN_FOR, Reason.build("tlsRefused"))
