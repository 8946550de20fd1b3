"""Report an outage of the embedded identity platform's database like that of any database."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.database.errors import no_database
from chamberlain.embedded.identity.errors import IdentityUnreachable


@contextmanager
def identity_unavailable() -> Iterator[None]:
    """Raises Unavailable where the platform cannot reach its database."""
    try:
        yield
    except IdentityUnreachable as error:
        raise no_database(error.__cause__ or error) from error
