"""Makes the data of a new server, roles and database included, or checks that the data fits the programs."""

from collections.abc import Mapping
from pathlib import Path

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.errors import InitializationFailed, OtherMajorVersion
from chamberlain.embedded.postgres.folder import Folder, new_data_folder, put_in_place
from chamberlain.embedded.postgres.process import end_left_over
from chamberlain.embedded.postgres.roles import PORT
from chamberlain.embedded.postgres.server_user import ServerUser, run_child

# The locale that sorts alike on all systems and never changes comes with PostgreSQL from this version on.
_BUILTIN_LOCALE_SINCE = 17


def make_cluster(folder: Folder, *, programs: Path, version: int, user: ServerUser, database: str) -> None:
    """Make the data beside its place and move it there when it is whole: a first start may be cut short."""
    end_left_over(folder.unfinished_data)
    data = new_data_folder(folder, user)
    _run([programs / "initdb", f"--pgdata={data}", *_initdb_options(version)], folder, user)
    # Set up without a server: nobody can connect before everything is closed. The superuser is needed for
    # backups alone, from then on (decision 25).
    single: list[str | Path] = [programs / "postgres", "--single", "-D", data, "-c", "exit_on_error=true"]
    _run([*single, "template1"], folder, user, roles.closing_statements())
    _run([*single, "postgres"], folder, user, roles.role_statements() + roles.database_statements(database))
    put_in_place(folder)


def check_version(data: Path, *, programs: Path, version: int, database: str) -> None:
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
    # The single-user server takes one statement a line.
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
    # Durable before all else.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # A laptop's share: pools of a few processes, and memory that nobody misses.
    "max_connections": "100",
    "shared_buffers": "128MB",
    # A new segment of the write-ahead log costs the commit that needs it (seen in the 99th percentile); old ones are
    # kept for use again.
    "min_wal_size": "512MB",
    "max_wal_size": "2GB",
    # To fill a new one with zeros keeps a commit waiting for a tenth of a second and more. Without that, its place on
    # the disk is found bit by bit, as it is written.
    "wal_init_zero": "off",
    # Behind each checkpoint, pages are logged whole when they are first written to. To compress one takes as long as a
    # statement, and groups that are asked for touch pages everywhere: at a million of them it was a fifth of the time.
    "wal_compression": "off",
    # Compiling a plan takes longer than any statement of the service.
    "jit": "off",
    # The table of jobs turns over quickly; the defaults wait for a fifth of a table to be dead.
    "autovacuum_naptime": "10s",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    # One file for each day of the week, written over a week later.
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgresql-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_line_prefix": "%m [%p] %q%u@%d %a ",
    # Values of rows and parameters may be personal or secret; they have no place in a log.
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
    """Write the files and answer the first; the visitor is the system user who may take any of the roles."""
    access = folder.path / "pg_hba.conf"
    users = folder.path / "pg_ident.conf"
    settings = folder.path / "postgresql.conf"
    own = {
        "hba_file": str(access),
        "ident_file": str(users),
        "unix_socket_directories": '"' + str(folder.data).replace('"', '""') + '"',
    }
    # The second line is for backups.
    lines = [f"local all {','.join(roles.ALL)} peer map={_MAP}", f"local replication {roles.SET_UP} peer map={_MAP}"]
    _write(access, lines)
    _write(users, [f'{_MAP} "{visitor}" {role}' for role in roles.ALL])
    _write(settings, [f"{name} = {_quote(value)}" for name, value in (_SETTINGS | own | dict(extra_settings)).items()])
    return settings


def _write(path: Path, lines: list[str]) -> None:
    # Never through a link that lies there already: root may have been given somebody's folder.
    path.unlink(missing_ok=True)
    with path.open("x") as file:
        file.write(_HEAD + "\n".join(lines) + "\n")
    # The server's user reads them; there is nothing secret in them.
    path.chmod(0o644)


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
