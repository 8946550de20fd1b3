"""Makes the data of a new server, roles and database included, or checks that the data fits the programs."""

from pathlib import Path

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.child import run_child
from chamberlain.embedded.postgres.errors import InitializationFailed, OtherMajorVersion
from chamberlain.embedded.postgres.folder import Folder, new_data_folder, put_in_place
from chamberlain.embedded.postgres.left_over import end_left_over
from chamberlain.embedded.postgres.users import ServerUser

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
