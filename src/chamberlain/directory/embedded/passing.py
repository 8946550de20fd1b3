"""What passes by itself, in the words of the port."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.embedded.directory.errors import NotNow
from chamberlain.rules.errors import TryAgain


@contextmanager
def passing() -> Iterator[None]:
    """Turn everything that says "not now" into TryAgain."""
    try:
        yield
    except NotNow as error:
        raise TryAgain(error.after, str(error)) from error
