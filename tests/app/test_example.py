# SPDX-License-Identifier: Apache-2.0
"""The example estate and the data folder: passwords and secrets are to be read there, the database has their hashes."""

import json
import stat
from pathlib import Path

import pytest

from chamberlain.app.data_folder import DataFolder, DataFolderUnusable, open_data_folder
from chamberlain.app.databases import DatabaseAddresses, Databases
from chamberlain.app.maintenance import complete_example_estate, forget_lost_passwords, load_example_estate
from chamberlain.embedded.identity import hashing
from chamberlain.embedded.identity.hashing import PasswordVerifier
from tests import databases as empty

ADA, AUTOMATION, CONSOLE = "ada@estate.example", "automation", "chamberlain-console"
# As an earlier version kept a secret.
OLD_FORM = "scrypt$16384$8$1$QUJDREVGR0hJSktMTU5PUA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture
def service_databases(databases: empty.Databases) -> Databases:
    """The database as the processes see it."""
    addresses = databases.addresses
    direct = DatabaseAddresses(addresses.application, addresses.worker, addresses.application)
    return Databases(direct, databases.application, databases.worker, is_embedded=True)


async def start(databases: Databases, folder: DataFolder) -> bool:
    """As a start does it; whether there are new passwords."""
    await load_example_estate(databases, folder)
    await forget_lost_passwords(databases, folder)
    return await complete_example_estate(databases, folder)


async def is_password(databases: Databases, password: str, address: str = ADA) -> bool:
    stored = await databases.worker.pool.fetchval(
        "SELECT password_hash FROM identity.accounts WHERE address = $1", address
    )
    return await PasswordVerifier().is_right(password, stored)


def read(folder: DataFolder) -> dict[str, str]:
    passwords: dict[str, str] = json.loads(folder.example_users.read_text())
    return passwords


async def test_it_works(service_databases: Databases, tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "data")

    assert await start(service_databases, folder)

    passwords = read(folder)
    assert stat.S_IMODE(folder.example_users.stat().st_mode) == 0o600
    assert {"zoe@other.example", *(f"{name}@estate.example" for name in ("ada", "ben", "cleo", "dara", "eli"))} == set(
        passwords
    )
    assert len(set(passwords.values())) == len(passwords)
    assert all(len(password) >= 16 for password in passwords.values())
    assert await is_password(service_databases, passwords[ADA])
    assert not await is_password(service_databases, passwords["ben@estate.example"])


async def test_the_next_start_changes_nothing(service_databases: Databases, tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "data")
    await start(service_databases, folder)
    before = read(folder)

    assert not await start(service_databases, folder)

    assert read(folder) == before
    assert await is_password(service_databases, before[ADA])


async def test_without_the_file_there_are_new_passwords(service_databases: Databases, tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "data")
    await start(service_databases, folder)
    before = read(folder)
    folder.example_users.unlink()

    assert await start(service_databases, folder)

    after = read(folder)
    assert not set(before.values()) & set(after.values())
    assert await is_password(service_databases, after[ADA])
    assert not await is_password(service_databases, before[ADA])


async def test_a_start_that_was_cut_short_is_made_good(service_databases: Databases, tmp_path: Path) -> None:
    """The file is there, and the passwords did not get into the database."""
    folder = open_data_folder(tmp_path / "data")
    await start(service_databases, folder)
    before = read(folder)
    await service_databases.worker.pool.execute("UPDATE identity.accounts SET password_hash = NULL")

    assert await start(service_databases, folder)

    assert read(folder) == before
    assert await is_password(service_databases, before[ADA])


async def test_a_folder_of_an_earlier_version_goes_on_working(service_databases: Databases, tmp_path: Path) -> None:
    """No passwords, no addresses of programs, and a secret hashed in another way."""
    folder = open_data_folder(tmp_path / "data")
    await start(service_databases, folder)
    secret = folder.client_secret(AUTOMATION).read_text()
    folder.example_users.unlink()
    await service_databases.worker.pool.execute("UPDATE identity.accounts SET password_hash = NULL")
    await service_databases.worker.pool.execute("UPDATE identity.clients SET redirect_uris = '{}'")
    await service_databases.worker.pool.execute(
        "UPDATE identity.clients SET secret_hash = $1 WHERE name = 'automation'", OLD_FORM
    )

    assert await start(service_databases, folder)

    stored = await service_databases.worker.pool.fetchrow(
        "SELECT cli.redirect_uris, program.secret_hash FROM identity.clients AS cli, identity.clients AS program"
        " WHERE cli.name = 'chamberlain-cli' AND program.name = 'automation'"
    )
    assert folder.client_secret(AUTOMATION).read_text() == secret
    assert stored is not None
    assert hashing.verify_client_secret(secret.strip(), stored["secret_hash"])
    assert stored["redirect_uris"] == ["http://localhost"]
    assert await is_password(service_databases, read(folder)[ADA])


async def test_a_database_without_the_example_gets_no_file(service_databases: Databases, tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "data")

    await forget_lost_passwords(service_databases, folder)
    assert not await complete_example_estate(service_databases, folder)

    assert not folder.example_users.exists()
    assert not folder.client_secret(AUTOMATION).exists()


async def test_an_estate_of_an_earlier_version_gets_the_client_of_the_console(
    service_databases: Databases, tmp_path: Path
) -> None:
    folder, pool = open_data_folder(tmp_path / "data"), service_databases.worker.pool
    await start(service_databases, folder)
    folder.client_secret(CONSOLE).unlink()
    await pool.execute("DELETE FROM identity.clients WHERE name = $1", CONSOLE)

    await start(service_databases, folder)

    stored = await pool.fetch("SELECT secret_hash FROM identity.clients WHERE name = $1", CONSOLE)
    secret = folder.client_secret(CONSOLE).read_text().strip()
    assert [hashing.verify_client_secret(secret, row["secret_hash"]) for row in stored] == [True, True]


@pytest.mark.parametrize("content", ["", "[]", '{"ada@estate.example": 1}', "\xff"])
async def test_it_rejects_a_file_that_cannot_be_read(
    service_databases: Databases, tmp_path: Path, content: str
) -> None:
    folder = open_data_folder(tmp_path / "data")
    await start(service_databases, folder)
    await service_databases.worker.pool.execute("UPDATE identity.accounts SET password_hash = NULL")
    folder.example_users.write_bytes(content.encode("latin-1"))

    with pytest.raises(DataFolderUnusable, match="Remove it"):
        await start(service_databases, folder)
