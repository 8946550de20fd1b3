# SPDX-License-Identifier: Apache-2.0
"""The keys of the embedded identity platform, as the key commands count and rotate them."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from chamberlain.app.commands.keys import IdentityKeys
from chamberlain.core.errors import Unavailable
from chamberlain.database.transactions import open_database
from tests.databases import Databases
from tests.embedded.identity.estate import KEYRING


@pytest.fixture
async def unreachable_keys() -> AsyncIterator[IdentityKeys]:
    """Keys of an unreachable database."""
    database = await open_database("postgresql://nobody@127.0.0.1:1/nowhere", most=1, name="test")
    yield IdentityKeys(database)
    await database.close()


async def test_it_works(databases: Databases) -> None:
    keys = IdentityKeys(databases.worker)

    assert (dict(await keys.count()), await keys.reseal(KEYRING)) == ({}, (0, 0))


@pytest.mark.parametrize(
    "work", [IdentityKeys.count, lambda keys: keys.reseal(KEYRING)], ids=["counted", "sealed anew"]
)
async def test_a_database_that_is_away_is_reported_as_everywhere(
    unreachable_keys: IdentityKeys, work: Callable[[IdentityKeys], Awaitable[object]]
) -> None:
    with pytest.raises(Unavailable) as caught:
        await work(unreachable_keys)

    assert caught.value.code == "databaseUnavailable"
