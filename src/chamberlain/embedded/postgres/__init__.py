# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server that the service starts, supervises and stops.

The package finds the programs, creates the data folder, and starts and restarts the server. It does not know the stored
data: the caller gets only addresses. Only the user who runs the service can connect, through a socket in a private
folder, without a password or a network port.
"""

from chamberlain.embedded.postgres.backup import FILES, OpenFile, back_up, forget, restore
from chamberlain.embedded.postgres.errors import AlreadyRunning, EmbeddedPostgresError, StillRunning
from chamberlain.embedded.postgres.programs import find_programs, major_version
from chamberlain.embedded.postgres.roles import Addresses, database_statements
from chamberlain.embedded.postgres.server import Server, addresses_of, has_data, lacks_descriptors, start

__all__ = [
    "FILES",
    "Addresses",
    "AlreadyRunning",
    "EmbeddedPostgresError",
    "OpenFile",
    "Server",
    "StillRunning",
    "addresses_of",
    "back_up",
    "database_statements",
    "find_programs",
    "forget",
    "has_data",
    "lacks_descriptors",
    "major_version",
    "restore",
    "start",
]
