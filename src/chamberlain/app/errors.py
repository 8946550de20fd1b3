"""What can keep a process from starting through nobody's bug, told in one way."""

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
    """Let each of these through as CannotStart with its own sentence; everything else is a bug and stays one."""
    try:
        yield
    except EXPECTED as error:
        raise CannotStart(str(error)) from error
