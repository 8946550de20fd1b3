# SPDX-License-Identifier: Apache-2.0
"""The directory in another database: refusals of the connection, and its check."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from chamberlain.core.outages import outage_of
from chamberlain.embedded.directory.database import Pool, database_errors
from chamberlain.embedded.directory.errors import Broken, Unreachable
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Refusals that last until an administrator changes something. Classes 28, 3D and 42 of PostgreSQL's error codes
# (appendix A of its documentation).
_REFUSALS: tuple[tuple[type[asyncpg.PostgresError], str], ...] = (
    (asyncpg.InvalidAuthorizationSpecificationError, "passwordRefused"),
    (asyncpg.InvalidCatalogNameError, "databaseUnknown"),
    (asyncpg.InsufficientPrivilegeError, "privilegeMissing"),
    (asyncpg.InvalidSchemaNameError, "schemaMissing"),
    (asyncpg.UndefinedTableError, "schemaMissing"),
    (asyncpg.UndefinedColumnError, "schemaMissing"),
    (asyncpg.UndefinedFunctionError, "schemaMissing"),
)


@contextmanager
def refusals() -> Iterator[None]:
    """Raise Broken for a refused connection, which no retry solves.

    Any other error of that database raises Unreachable.
    """
    try:
        yield
    except tuple(each for each, _ in _REFUSALS) as error:
        code = next(code for kind, code in _REFUSALS if isinstance(error, kind))
        # The text of the error may name roles and hosts.
        raise Broken(code) from error
    except asyncpg.PostgresError as error:
        # A fault in that database. Its operator repairs it, and retries succeed then.
        raise Unreachable(f"The directory's database cannot be used. {outage_of(error).seen}") from error


async def require_writable(pool: Pool) -> None:
    """Check that the role may write the directory. Raises Broken and Unreachable."""
    with refusals(), database_errors():
        is_writable = await pool.fetchval(SQL["is_writable"])
    if not is_writable:
        raise Broken("privilegeMissing")
