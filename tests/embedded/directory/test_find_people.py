# SPDX-License-Identifier: Apache-2.0
"""The words of users follow every write."""

import pytest

from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.people import Register
from tests.databases import Databases
from tests.embedded.directory.sample_data import ADA, BEN, HOUSE, SECTION


@pytest.mark.parametrize(
    ("statement", "text", "is_found"),
    [
        ("UPDATE directory.users SET display_name = 'Maud Linz' WHERE id = $1", "maud", True),
        ("UPDATE directory.users SET display_name = 'Maud Linz' WHERE id = $1", "linz", True),
        ("UPDATE directory.users SET mail = 'maud@house.example' WHERE id = $1", "maud", True),
        ("UPDATE directory.users SET display_name = 'Anne-Marie O''Hara' WHERE id = $1", "marie", True),
        ("UPDATE directory.users SET display_name = 'Anne-Marie O''Hara' WHERE id = $1", "o'ha", True),
        ("UPDATE directory.users SET display_name = 'Ödön Ñandú' WHERE id = $1", "ÖDÖ", True),
        ("UPDATE directory.users SET account_enabled = false WHERE id = $1", "ada", False),
        ("DELETE FROM directory.users WHERE id = $1", "ada", False),
    ],
)
async def test_it_follows_changes(databases: Databases, statement: str, text: str, is_found: bool) -> None:  # noqa: FBT001 - a parameter of the table.
    await load(databases.worker.pool, SECTION)
    register = Register(databases.application.pool)

    await databases.worker.pool.execute(statement, ADA)

    cards = await register.find(HOUSE, text.lower().split(), most=10)
    assert (ADA in {card.id for card in cards}) is is_found
    assert BEN in {card.id for card in await register.find(HOUSE, ["ben"], most=10)}
