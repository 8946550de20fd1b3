# SPDX-License-Identifier: Apache-2.0
"""Migrations: each once, in order, never edited, and row-level security on every table of a tenant."""

import asyncio
import re
from pathlib import Path

import pytest

from chamberlain.database.migrate import (
    MigrationRefused,
    MigrationSet,
    MigrationState,
    migrate,
    migrate_before,
    migration_state,
    missing_files,
    script,
)
from chamberlain.embedded import postgres
from tests.databases import SETS, Databases
from tests.estates import until
from tests.postgres import connected, new_database


async def test_it_works(postgres_server: postgres.Server) -> None:
    async with new_database(postgres_server) as addresses:
        first = await migrate(addresses.owner, SETS)
        second = await migrate(addresses.owner, SETS)
        async with connected(addresses.application) as connection:
            missing = await missing_files(connection, SETS)

    assert first[0] == "chamberlain/0001_chamberlain.pre.sql"
    assert second == []
    assert missing == []


def test_every_migration_has_a_number_of_its_own() -> None:
    for each in SETS:
        numbers = [path.name[:4] for path in each.migrations.glob("*.sql")]

        assert sorted(set(numbers)) == sorted(numbers)


async def test_every_table_of_a_tenant_is_bound_by_row_level_security(databases: Databases) -> None:
    async with connected(databases.addresses.owner) as connection:
        unbound = await connection.fetch(
            "SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
            "WHERE c.relkind IN ('r', 'p') AND a.attname = 'tenant_id' AND NOT c.relrowsecurity"
        )
        bound = await connection.fetchval("SELECT count(*) FROM pg_class WHERE relrowsecurity")

    assert [row["name"] for row in unbound] == []
    assert bound >= 11


async def test_it_rejects_a_file_that_was_edited_after_it_was_run(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    file = tmp_path / "0001_first.pre.sql"
    file.write_text("CREATE SCHEMA first;")
    sets = [MigrationSet("trial", tmp_path, tmp_path / "sql")]
    async with new_database(postgres_server) as addresses:
        await migrate(addresses.owner, sets)
        file.write_text("CREATE SCHEMA second;")

        with pytest.raises(MigrationRefused, match="Put the old text back"):
            await migrate(addresses.owner, sets)


async def test_it_handles_a_file_that_fails_by_leaving_nothing_of_it(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    (tmp_path / "0001_first.pre.sql").write_text("CREATE SCHEMA first; SELECT 1 / 0;")
    sets = [MigrationSet("trial", tmp_path, tmp_path / "sql")]
    async with new_database(postgres_server) as addresses:
        with pytest.raises(Exception, match="division by zero"):
            await migrate(addresses.owner, sets)
        async with connected(addresses.owner) as connection:
            found = await connection.fetchval("SELECT to_regnamespace('first')")

    assert found is None


async def test_it_leaves_out_what_comes_after_the_old_processes(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    names = ("0001_a.pre", "0002_b.post", "0003_c.pre", "0004_d.post", "0005_e.post.alone")
    for name in names:
        (tmp_path / f"{name}.sql").write_text(f"CREATE SCHEMA {name[5]}")
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "z.sql").write_text("CREATE SCHEMA z")
    sets = [MigrationSet("trial", tmp_path, tmp_path / "sql")]
    async with new_database(postgres_server) as addresses:
        before = await migrate_before(addresses.owner, sets)
        async with connected(addresses.application) as connection:
            missing = await missing_files(connection, sets)
        after = await migrate(addresses.owner, sets)

    # The post file of the version before has waited long enough.
    assert before == ["trial/0001_a.pre.sql", "trial/0002_b.post.sql", "trial/0003_c.pre.sql", "trial/sql/z.sql"]
    assert after == ["trial/0004_d.post.sql", "trial/0005_e.post.alone.sql"]
    assert missing == []


async def test_it_keeps_nobody_from_a_table_that_it_waits_for(databases: Databases, tmp_path: Path) -> None:
    (tmp_path / "0001_first.pre.sql").write_text("ALTER TABLE chamberlain.tenant ADD COLUMN later text")
    sets = [MigrationSet("trial", tmp_path, tmp_path / "sql")]
    read = "SELECT count(tenant_id) FROM chamberlain.tenant"
    async with connected(databases.addresses.worker) as report, connected(databases.addresses.worker) as other:
        long = report.transaction()
        await long.start()
        await report.execute(read)
        migrating = asyncio.create_task(migrate(databases.addresses.owner, sets))

        async def waits() -> bool:
            return bool(await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted AND database <> 0"))

        await until(waits)
        await other.execute(read, timeout=2)
        await long.rollback()

        assert await asyncio.wait_for(migrating, timeout=10) == ["trial/0001_first.pre.sql"]


async def test_functions_are_put_in_again_when_their_text_changes(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    functions = tmp_path / "sql"
    functions.mkdir()
    function = functions / "answers.sql"
    create = "CREATE OR REPLACE FUNCTION public.answer() RETURNS integer LANGUAGE sql AS 'SELECT {}'"
    sets = [MigrationSet("trial", tmp_path, functions)]
    async with new_database(postgres_server) as addresses:
        function.write_text(create.format(41))
        await migrate(addresses.owner, sets)
        function.write_text(create.format(42))
        run = await migrate(addresses.owner, sets)
        async with connected(addresses.owner) as connection:
            answer = await connection.fetchval("SELECT public.answer()")

    assert run == ["trial/sql/answers.sql"]
    assert answer == 42


async def test_a_function_in_another_text_is_missing_but_one_that_was_replaced_by_newer_code_is_not(
    postgres_server: postgres.Server, tmp_path: Path
) -> None:
    functions = tmp_path / "sql"
    functions.mkdir()
    function = functions / "answers.sql"
    create = "CREATE OR REPLACE FUNCTION public.answer() RETURNS integer LANGUAGE sql AS 'SELECT {}'"
    sets = [MigrationSet("trial", tmp_path, functions)]

    async def missing(text: int) -> list[str]:
        function.write_text(create.format(text))
        async with connected(addresses.application) as connection:
            return await missing_files(connection, sets)

    async with new_database(postgres_server) as addresses:
        function.write_text(create.format(41))
        await migrate(addresses.owner, sets)

        assert await missing(42) == ["trial/sql/answers.sql"]

        await migrate(addresses.owner, sets)

        assert (await missing(42), await missing(41)) == ([], [])


FILES_AND_NOTES = re.compile(r"^(?=-- \w+/\S+\.sql$|INSERT INTO migration\.applied VALUES)", re.MULTILINE)


async def test_the_script_brings_an_empty_database_to_where_migrate_brings_it(postgres_server: postgres.Server) -> None:
    roles, _, files = script(SETS).partition("\\connect chamberlain\n")

    async with new_database(postgres_server) as addresses:
        async with connected(addresses.owner) as connection:
            # As psql does: a file that refuses a transaction comes alone.
            for part in FILES_AND_NOTES.split(files):
                await connection.execute(part)
            missing = await missing_files(connection, SETS)
        run = await migrate(addresses.owner, SETS)

    assert "CREATE ROLE chamberlain_owner" in roles
    assert (missing, run) == ([], [])


async def test_it_tells_how_a_database_stands_to_the_files(postgres_server: postgres.Server, tmp_path: Path) -> None:
    sets = [MigrationSet("trial", tmp_path, tmp_path / "sql")]
    for name in ("0001_first.pre.sql", "0002_second.pre.sql", "0009_newer.pre.sql"):
        (tmp_path / name).write_text("SELECT 1;")
    async with new_database(postgres_server) as addresses, connected(addresses.owner) as connection:
        before = await migration_state(connection, sets)
        await migrate(addresses.owner, sets)
        (tmp_path / "0002_second.pre.sql").write_text("SELECT 2;")
        (tmp_path / "0003_third.pre.sql").write_text("SELECT 3;")
        (tmp_path / "0004_fourth.post.sql").write_text("SELECT 4;")
        (tmp_path / "0009_newer.pre.sql").unlink()
        after = await migration_state(connection, sets)

    assert before.missing == ("trial/0001_first.pre.sql", "trial/0002_second.pre.sql", "trial/0009_newer.pre.sql")
    assert after == MigrationState(
        missing=("trial/0003_third.pre.sql",),
        later=("trial/0004_fourth.post.sql",),
        changed=("trial/0002_second.pre.sql",),
        unknown=("trial/0009_newer.pre.sql",),
    )
