"""Maps the errors of the embedded directory to those of the port."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.embedded.directory.errors import NotNow, Refused


@contextmanager
def port_errors() -> Iterator[None]:
    """Raise TryAgain for every error that a retry can solve."""
    try:
        yield
    except NotNow as error:
        raise TryAgain(error.after, str(error)) from error


def rejected(refused: Refused) -> Rejected:
    """Map a refusal."""
    return Rejected(refused.code, refused.detail)
