# SPDX-License-Identifier: Apache-2.0
"""Data of another major version: refused, with two commands to transfer it."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import errors
from tests.postgres import connected, named_programs, short_folder, started

_OLD_PROGRAMS = Path("/usr/lib/postgresql/15/bin")


async def test_it_rejects_data_of_another_major_version() -> None:
    with short_folder() as folder:
        async with started(folder):
            pass
        (folder / "data" / "PG_VERSION").write_text("14\n")

        with pytest.raises(errors.OtherMajorVersion, match="was made by PostgreSQL 14, the programs in") as refusal:
            await postgres.start(folder, programs=named_programs(), run_as=None)

        assert "/pg_dumpall --host=" in str(refusal.value)
        assert "/psql --host=" in str(refusal.value)


@pytest.mark.heavy
@pytest.mark.needs("postgresql-15")
async def test_the_two_commands_transfer_all_data() -> None:
    with short_folder() as folder:
        async with started(folder, programs=_OLD_PROGRAMS) as server, connected(server.addresses.owner) as owner:
            await owner.execute("CREATE TABLE guest AS SELECT 'Ophelia' AS name")
            await owner.execute("GRANT SELECT ON guest TO chamberlain_application")
        with pytest.raises(errors.OtherMajorVersion) as refusal:
            await postgres.start(folder, programs=postgres.find_programs(None), run_as=None)

        async with started(folder, programs=_OLD_PROGRAMS):
            await _run(refusal.value.save_command, folder)
        (folder / "data").rename(folder / "data.15")
        async with started(folder, programs=postgres.find_programs(None)) as server:
            await _run(refusal.value.load_command, folder)

            async with connected(server.addresses.application) as application:
                assert await application.fetchval("SELECT name FROM guest") == "Ophelia"
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await application.execute("CREATE TEMPORARY TABLE guest_list (name text)")


async def _run(command: str, folder: Path) -> None:
    child = await asyncio.create_subprocess_shell(command, cwd=folder)
    assert await child.wait() == 0
