"""What passes by itself, in the words of the port."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.core.errors import TryAgain
from chamberlain.embedded.directory.errors import NotNow


@contextmanager
def passing() -> Iterator[None]:
    """Turn everything that says "not now" into TryAgain."""
    try:
        yield
    except NotNow as error:
        raise TryAgain(error.after, str(error)) from error
