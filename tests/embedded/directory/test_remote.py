# SPDX-License-Identifier: Apache-2.0
"""Errors of the directory in another database."""

import pytest

from chamberlain.embedded.directory.errors import Broken, Unreachable
from chamberlain.embedded.directory.remote import refusals
from tests.databases import Databases


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SELECT * FROM directory.no_such_table", "schemaMissing"),
        ("SELECT directory.no_such_function()", "schemaMissing"),
        ("CREATE SCHEMA other", "privilegeMissing"),
    ],
)
async def test_a_refused_statement_breaks_the_connection(databases: Databases, statement: str, code: str) -> None:
    with pytest.raises(Broken) as caught, refusals():
        await databases.worker.pool.execute(statement)

    assert caught.value.code == code


@pytest.mark.parametrize("statement", ["SELECT 1 / 0", "SELECT 'x'::uuid", "DO $$ BEGIN RAISE 'no'; END $$"])
async def test_any_other_error_of_that_database_is_temporary(databases: Databases, statement: str) -> None:
    with pytest.raises(Unreachable), refusals():
        await databases.worker.pool.execute(statement)
