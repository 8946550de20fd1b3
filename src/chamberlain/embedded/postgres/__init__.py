"""A real PostgreSQL that the service starts for itself, keeps running and stops.

Here lives what is needed to find the programs, make the data, start the server and start it again. What is stored in
it may not be known here: whoever starts it gets addresses and nothing else. It is reached through a socket inside a
closed folder, by the user who runs the service; there is no password and no network port.
"""

from chamberlain.embedded.postgres.backup import FILES, OpenFile, back_up, forget, restore
from chamberlain.embedded.postgres.errors import (
    AlreadyRunning,
    BackupFailed,
    DidNotStart,
    EmbeddedPostgresError,
    FolderNotUsable,
    FolderOutOfReach,
    InitializationFailed,
    NoUserForServer,
    OtherMajorVersion,
    ProgramsMissing,
    ProgramsOutOfReach,
    RoomMissing,
    SocketPathTooLong,
    StillRunning,
    UnsupportedVersion,
    UserWithoutName,
)
from chamberlain.embedded.postgres.programs import find_programs, major_version
from chamberlain.embedded.postgres.roles import Addresses, database_statements
from chamberlain.embedded.postgres.server import Server, addresses_of, has_data, lacks_descriptors, start

__all__ = [
    "FILES",
    "Addresses",
    "AlreadyRunning",
    "BackupFailed",
    "DidNotStart",
    "EmbeddedPostgresError",
    "FolderNotUsable",
    "FolderOutOfReach",
    "InitializationFailed",
    "NoUserForServer",
    "OpenFile",
    "OtherMajorVersion",
    "ProgramsMissing",
    "ProgramsOutOfReach",
    "RoomMissing",
    "Server",
    "SocketPathTooLong",
    "StillRunning",
    "UnsupportedVersion",
    "UserWithoutName",
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
