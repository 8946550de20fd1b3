"""How a command ends that cannot do what it was asked for: a sentence on standard error, and the exit code 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from chamberlain.core.errors import OperatorFault, Refusal


@contextmanager
def told_faults() -> Iterator[None]:
    """Let what is nobody's bug end the command with its own sentences."""
    try:
        yield
    except (OperatorFault, Refusal) as error:
        raise failed(str(error)) from error


def failed(sentence: str) -> typer.Exit:
    """Say it, and give what ends the command."""
    print(sentence, file=sys.stderr)
    return typer.Exit(1)
