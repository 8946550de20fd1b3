# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import errors
from tests.postgres import connected, named_programs, short_folder, started


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
async def server(folder: Path) -> AsyncIterator[postgres.Server]:
    async with started(folder) as server:
        yield server


async def test_it_works(server: postgres.Server) -> None:
    users = [await _value(address, "SELECT current_user") for address in _all(server.addresses)]

    assert users == ["chamberlain_owner", "chamberlain_application", "chamberlain_worker"]


async def test_a_restart_keeps_the_data() -> None:
    with short_folder() as folder:
        async with started(folder) as server, connected(server.addresses.owner) as owner:
            await owner.execute("CREATE TABLE guest AS SELECT 'Ophelia' AS name")

        async with started(folder) as server:
            assert await _value(server.addresses.owner, "SELECT name FROM guest") == "Ophelia"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("data_checksums", "on"),
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("listen_addresses", ""),
        ("logging_collector", "on"),
        ("server_encoding", "UTF8"),
        ("TimeZone", "UTC"),
        ("min_wal_size", "512MB"),
        ("wal_init_zero", "off"),
    ],
)
async def test_it_runs_with(server: postgres.Server, setting: str, value: str) -> None:
    assert await _value(server.addresses.application, f"SHOW {setting}") == value


async def test_it_sorts_by_code_point_and_folds_all_letters(server: postgres.Server) -> None:
    sorted_names = await _value(
        server.addresses.application,
        "SELECT string_agg(name, '' ORDER BY name) FROM unnest(ARRAY['b', 'a', 'B', 'ä']) AS name",
    )

    assert sorted_names == "Babä"
    assert await _value(server.addresses.application, "SELECT upper('ä')") == "Ä"


async def test_no_service_role_can_change_the_server(server: postgres.Server) -> None:
    async with connected(server.addresses.owner) as owner:
        roles = await owner.fetch(
            "SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication AS may, rolbypassrls"
            " FROM pg_roles WHERE rolname LIKE 'chamberlain%'"
            " AND rolname <> 'chamberlain_set_up' ORDER BY rolname"
        )

    assert [(role["rolname"], role["may"], role["rolbypassrls"]) for role in roles] == [
        ("chamberlain_application", False, False),
        ("chamberlain_owner", False, False),
        ("chamberlain_worker", False, False),
    ]


async def test_no_password_exists(server: postgres.Server) -> None:
    assert await _value(server.set_up_address, "SELECT count(rolpassword) FROM pg_authid") == 0


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE guest (name text)",
        "CREATE TEMPORARY TABLE guest (name text)",
        "CREATE SCHEMA house",
        "CREATE DATABASE house",
        "CREATE ROLE guest",
        "SET ROLE chamberlain_owner",
    ],
)
async def test_it_restricts_the_application_and_the_worker(server: postgres.Server, statement: str) -> None:
    for address in (server.addresses.application, server.addresses.worker):
        async with connected(address) as connection:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)


async def test_the_application_cannot_connect_to_other_databases(server: postgres.Server) -> None:
    address = server.addresses_of("postgres").application

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await asyncpg.connect(address)


async def test_it_rejects_an_unmapped_role(server: postgres.Server) -> None:
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await asyncpg.connect(server.addresses.owner.replace("chamberlain_owner", "postgres"))


async def test_only_the_owner_reaches_the_socket(folder: Path, server: postgres.Server) -> None:
    assert server.pid
    assert _mode(folder / "data") == 0o700
    assert (folder / "data" / ".s.PGSQL.5432").is_socket()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_it_runs_as_the_service_user_but_never_as_root(server: postgres.Server, folder: Path) -> None:
    owner = _owner(Path("/proc") / str(server.pid))

    assert owner != 0
    assert os.geteuid() in {0, owner}
    assert _owner(folder / "data") == owner


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_it_does_not_listen_on_the_network(server: postgres.Server) -> None:
    assert _sockets_of(server.pid), "the unix socket at least"
    assert not _sockets_of(server.pid) & _network_sockets(server.pid)


async def test_it_has_its_own_process_group(
    server: postgres.Server,
) -> None:
    assert os.getpgid(server.pid) == server.pid


async def test_it_writes_a_log_file_per_weekday(folder: Path, server: postgres.Server) -> None:
    assert server.pid
    names = [path.name for path in (folder / "data" / "log").iterdir()]

    assert names
    assert all(re.fullmatch(r"postgresql-(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.log", name) for name in names)


async def test_it_rejects_a_second_service_on_the_same_folder(folder: Path, server: postgres.Server) -> None:
    with pytest.raises(postgres.AlreadyRunning, match=f"in use by process {os.getpid()}"):
        await postgres.start(folder, programs=named_programs(), run_as=None)

    assert await _value(server.addresses.owner, "SELECT 1") == 1


async def test_it_rejects_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 90)

    with pytest.raises(errors.SocketPathTooLong, match=r"the system allows 103. Choose a data folder with a shorter"):
        await postgres.start(folder, programs=named_programs(), run_as=None)

    assert not folder.exists()


async def test_it_handles_the_longest_path_and_characters_that_need_quoting() -> None:
    with short_folder() as short:
        rest = "/data/.s.PGSQL.5432"
        folder = short / 'it\'s "ü" & 100%'.ljust(103 - len(bytes(short)) - len(rest) - 1 - 1, "x")

        async with started(folder) as server:
            assert len(bytes(folder)) + len(rest) == 103
            assert await _value(server.addresses.owner, "SELECT current_database()") == "chamberlain"


async def test_it_rejects_a_path_with_a_comma() -> None:
    with short_folder() as short, pytest.raises(errors.FolderNotUsable, match="no room for a comma"):
        await postgres.start(short / "one,two", programs=named_programs(), run_as=None)


async def test_it_rejects_a_folder_that_cannot_be_created() -> None:
    with short_folder() as short:
        (short / "file").touch()

        with pytest.raises(errors.FolderNotUsable, match="Choose another one"):
            await postgres.start(short / "file" / "postgres", programs=named_programs(), run_as=None)


async def test_it_rejects_a_folder_without_programs() -> None:
    with short_folder() as folder, pytest.raises(errors.ProgramsMissing, match="The PostgreSQL program postgres is"):
        await postgres.start(folder, programs=folder, run_as=None)


async def test_it_rejects_programs_of_another_version() -> None:
    with short_folder() as folder:
        programs = _programs_of_version(folder / "bin", "postgres (PostgreSQL) 14.1")

        with pytest.raises(errors.UnsupportedVersion, match="needed is PostgreSQL 15 to 18"):
            await postgres.start(folder / "postgres", programs=programs, run_as=None)


async def test_it_rejects_an_unknown_setting() -> None:
    with short_folder() as folder:
        with pytest.raises(errors.DidNotStart, match='unrecognized configuration parameter "no_such_setting"'):
            await postgres.start(
                folder, programs=named_programs(), run_as=None, extra_settings={"no_such_setting": "on"}
            )

        async with started(folder) as server:
            assert await _value(server.addresses.owner, "SELECT 1") == 1


async def test_it_quotes_the_log() -> None:
    with short_folder() as folder:
        async with started(folder):
            pass
        (folder / "data" / "pg_wal").rename(folder / "pg_wal")

        with pytest.raises(errors.DidNotStart, match=r'FATAL: .*WAL directory "pg_wal" does not exist') as refusal:
            await postgres.start(folder, programs=named_programs(), run_as=None)

        assert "fast shutdown request" not in str(refusal.value), "what was said before this start"


async def test_it_handles_an_aborted_first_start() -> None:
    with short_folder() as folder:
        (folder / "data.unfinished").mkdir()
        (folder / "data.unfinished" / "PG_VERSION").write_text("18\n")

        async with started(folder) as server:
            assert await _value(server.addresses.owner, "SELECT 1") == 1


async def test_stopping_twice_has_no_effect() -> None:
    with short_folder() as folder:
        server = await postgres.start(folder, programs=named_programs(), run_as=None)
        await server.stop()
        await server.stop()

        assert not (folder / "data" / "postmaster.pid").exists()


def test_the_client_programs_are_beside_the_server() -> None:
    programs = postgres.find_programs(None)

    assert all((programs / name).is_file() for name in ("psql", "pg_dump", "pg_dumpall", "pgbench"))


async def _value(address: str, statement: str) -> object:
    async with connected(address) as connection:
        return await connection.fetchval(statement)


def _all(addresses: postgres.Addresses) -> list[str]:
    return [addresses.owner, addresses.application, addresses.worker]


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _owner(path: Path) -> int:
    return path.stat().st_uid


def _sockets_of(pid: int) -> set[str]:
    links = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


def _network_sockets(pid: int) -> set[str]:
    tables = [Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    return {line.split()[9] for table in tables for line in table}


def _programs_of_version(folder: Path, answer: str) -> Path:
    folder.mkdir()
    for name in ("postgres", "initdb"):
        (folder / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (folder / name).chmod(0o755)
    return folder
