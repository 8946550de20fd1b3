"""What can keep a process from starting through nobody's bug, told in one way."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.bootstrap.data_folder import DataFolderUnusable
from chamberlain.bootstrap.databases import DatabaseNotReady
from chamberlain.embedded.postgres import EmbeddedPostgresError
from chamberlain.rules.errors import CannotStart, Unavailable
from chamberlain.store.hosts import AddressUnusable
from chamberlain.store.keyring import KeysUnusable
from chamberlain.store.migrate import MigrationRefused

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
