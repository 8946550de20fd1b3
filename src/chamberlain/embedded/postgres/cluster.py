# SPDX-License-Identifier: Apache-2.0
"""Creates the data, roles, database and configuration of a server."""

from collections.abc import Mapping
from pathlib import Path

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.errors import InitializationFailed, OtherMajorVersion
from chamberlain.embedded.postgres.folder import Folder, new_data_folder, put_in_place
from chamberlain.embedded.postgres.process import end_left_over
from chamberlain.embedded.postgres.roles import PORT
from chamberlain.embedded.postgres.server_user import ServerUser, run_child

# The first version with a built-in locale, which sorts equally on all systems and never changes.
_BUILTIN_LOCALE_SINCE = 17


def make_cluster(folder: Folder, *, programs: Path, version: int, user: ServerUser, database: str) -> None:
    """Create the data in a temporary folder, and rename the folder.

    So an aborted first start leaves no incomplete data.
    """
    end_left_over(folder.unfinished_data)
    data = new_data_folder(folder, user)
    _run([programs / "initdb", f"--pgdata={data}", *_initdb_options(version)], folder, user)
    # In single-user mode, so that no client can connect before the privileges are revoked. Later, only backups need the
    # superuser (decision 25).
    single: list[str | Path] = [programs / "postgres", "--single", "-D", data, "-c", "exit_on_error=true"]
    _run([*single, "template1"], folder, user, roles.closing_statements())
    _run([*single, "postgres"], folder, user, roles.role_statements() + roles.database_statements(database))
    put_in_place(folder)


def check_version(data: Path, *, programs: Path, version: int, database: str) -> None:
    """Validate that the programs have the major version of the data."""
    data_version = int((data / "PG_VERSION").read_text())
    if data_version != version:
        raise OtherMajorVersion(
            data=data,
            programs=programs,
            data_version=data_version,
            programs_version=version,
            database=database,
        )


def _initdb_options(version: int) -> list[str]:
    locale = (
        ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if version >= _BUILTIN_LOCALE_SINCE
        else ["--locale=C.UTF-8"]
    )
    return [f"--username={roles.SET_UP}", "--auth=peer", "--encoding=UTF8", "--data-checksums", *locale]


def _run(command: list[str | Path], folder: Folder, user: ServerUser, statements: list[str] | None = None) -> None:
    # Single-user mode reads one statement per line.
    text = "".join(f"{statement}\n" for statement in statements or [])
    status, output = run_child(command, user=user, folder=folder.path, text=text)
    if status != 0:
        raise InitializationFailed(folder.path, output)


_HEAD = "# Written at each start of the service; changes made here are lost.\n"
_MAP = "chamberlain"

_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    # Durability is more important than speed.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # Enough for the connection pools of a few processes, and little memory.
    "max_connections": "100",
    "shared_buffers": "128MB",
    # A new WAL segment delays the commit that needs it, visibly in the 99th percentile. So old segments are recycled.
    "min_wal_size": "512MB",
    "max_wal_size": "2GB",
    # Filling a new segment with zeros delays a commit by 100 ms or more. Without it, the file system allocates the
    # segment gradually.
    "wal_init_zero": "off",
    # After a checkpoint, the first change of a page logs the whole page. Compression takes as long as a statement;
    # with a million groups it took a fifth of the time, because their pages are scattered.
    "wal_compression": "off",
    # JIT compilation takes longer than any statement of the service.
    "jit": "off",
    # The job table changes quickly; by default, vacuum waits until a fifth of a table is dead rows.
    "autovacuum_naptime": "10s",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    # One file for each weekday, overwritten after a week.
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgresql-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_line_prefix": "%m [%p] %q%u@%d %a ",
    # Values of rows and parameters can be personal or secret, so they are not logged.
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "datestyle": "iso, ymd",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "default_text_search_config": "pg_catalog.simple",
}


def write_configuration(folder: Folder, *, visitor: str, extra_settings: Mapping[str, str]) -> Path:
    """Write the configuration files and return the main one.

    The system user `visitor` may log in as any role.
    """
    access = folder.path / "pg_hba.conf"
    users = folder.path / "pg_ident.conf"
    settings = folder.path / "postgresql.conf"
    own = {
        "hba_file": str(access),
        "ident_file": str(users),
        "unix_socket_directories": '"' + str(folder.data).replace('"', '""') + '"',
    }
    # pg_basebackup needs the second line.
    lines = [f"local all {','.join(roles.ALL)} peer map={_MAP}", f"local replication {roles.SET_UP} peer map={_MAP}"]
    _write(access, lines)
    _write(users, [f'{_MAP} "{visitor}" {role}' for role in roles.ALL])
    _write(settings, [f"{name} = {_quote(value)}" for name, value in (_SETTINGS | own | dict(extra_settings)).items()])
    return settings


def _write(path: Path, lines: list[str]) -> None:
    # Never follow an existing link: the service may be root, and the folder another user's.
    path.unlink(missing_ok=True)
    with path.open("x") as file:
        file.write(_HEAD + "\n".join(lines) + "\n")
    # The server's user reads the files; they contain no secrets.
    path.chmod(0o644)


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
