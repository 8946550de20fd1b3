"""Report the expected errors of a start in one way."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.app.data_folder import DataFolderUnusable
from chamberlain.app.databases import DatabaseNotReady
from chamberlain.core.errors import CannotStart, Unavailable
from chamberlain.database.connection import AddressUnusable
from chamberlain.database.migrate import MigrationRefused
from chamberlain.embedded.postgres import EmbeddedPostgresError
from chamberlain.secrets.keyring import KeysUnusable

EXPECTED = (
    AddressUnusable,
    DataFolderUnusable,
    DatabaseNotReady,
    EmbeddedPostgresError,
    KeysUnusable,
    MigrationRefused,
    Unavailable,
)


@contextmanager
def expected_faults() -> Iterator[None]:
    """Raise CannotStart for each expected error, with the same message.

    Any other error is a bug.
    """
    try:
        yield
    except EXPECTED as error:
        raise CannotStart(str(error)) from error
