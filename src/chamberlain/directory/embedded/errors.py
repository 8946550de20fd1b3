"""What passes by itself, in the words of the port."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.errors import NotNow, Refused


@contextmanager
def passing() -> Iterator[None]:
    """Turn everything that says "not now" into TryAgain."""
    try:
        yield
    except NotNow as error:
        raise TryAgain(error.after, str(error)) from error


def refusal_of(refused: Refused, steps: Sequence[Step]) -> tuple[tuple[Step, ...], Rejected]:
    """The steps that are done, and why the others never will be."""
    # Nothing was written, but the people were looked at, and only one code says that some are missing.
    looked_at = Step.CHECK_PEOPLE in steps and refused.code != "userUnknown"
    return (Step.CHECK_PEOPLE,) if looked_at else (), Rejected(refused.code, refused.detail)
