# SPDX-License-Identifier: Apache-2.0
"""The database as commands and the service open it, and what they say where they cannot."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chamberlain.app.databases import opened_beside
from chamberlain.app.errors import expected_faults
from chamberlain.app.maintenance import bring_up_to_date
from chamberlain.core.errors import CannotStart
from chamberlain.core.outages import Outage
from chamberlain.settings import Settings, read_settings
from tests.databases import Databases

NOWHERE = "postgresql://role:hidden@127.0.0.1:1/nowhere"
NEEDS_CERTIFICATE = f"{NOWHERE}?sslmode=verify-full"


def outside(address: str) -> Settings:
    """The settings of a machine whose database is there."""
    names = ("database_url", "database_worker_url", "database_owner_url")
    return read_settings(**dict.fromkeys(names, address))


async def opened(settings: Settings) -> None:
    """Open the database and close it."""
    with expected_faults():
        async with opened_beside(settings):
            pass


async def test_it_works(databases: Databases) -> None:
    await opened(outside(databases.addresses.worker))


@pytest.mark.parametrize("command", [opened, bring_up_to_date], ids=["opened", "migrated"])
async def test_it_rejects_an_address_whose_certificate_is_missing_with_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: Callable[[Settings], Awaitable[object]]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(CannotStart) as caught:
        await command(outside(NEEDS_CERTIFICATE))

    assert str(caught.value).startswith("The address of the database cannot be used: root certificate file")
    assert str(tmp_path) in str(caught.value)
    assert "hidden" not in str(caught.value)


async def test_an_outside_database_that_is_away_is_reported_as_one() -> None:
    with pytest.raises(CannotStart) as caught:
        await opened(outside(NOWHERE))

    assert str(caught.value) == f"{Outage.REFUSED.seen} Start the database, or correct CHAMBERLAIN_DATABASE_WORKER_URL."


async def test_an_embedded_database_that_is_away_is_reported_as_one(tmp_path: Path) -> None:
    with pytest.raises(CannotStart) as caught:
        await opened(read_settings(data_dir=tmp_path))

    assert str(caught.value) == (
        f"{Outage.REFUSED.seen} The embedded one runs as long as the service does: start it, or name its --data-dir."
    )
