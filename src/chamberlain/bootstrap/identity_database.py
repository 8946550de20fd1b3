"""The database of the embedded identity platform, away: told as that of any database is."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.embedded.identity.errors import IdentityUnreachable
from chamberlain.store.unreachable import no_database


@contextmanager
def identity_unavailable() -> Iterator[None]:
    """Raises Unavailable where the platform cannot reach its database."""
    try:
        yield
    except IdentityUnreachable as error:
        raise no_database() from error
