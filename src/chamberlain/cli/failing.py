"""How a command ends that cannot do what it was asked for: a sentence on standard error, and the exit code 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from chamberlain.bootstrap.faults import CannotStart
from chamberlain.rules.errors import Refusal
from chamberlain.shapes.configuration_export import ConfigurationTooLarge
from chamberlain.shapes.configuration_faults import ConfigurationInvalid


@contextmanager
def told_faults() -> Iterator[None]:
    """Let what is nobody's bug end the command with its own sentences."""
    try:
        yield
    except (CannotStart, Refusal, ConfigurationInvalid, ConfigurationTooLarge) as error:
        raise failed(str(error)) from error


def failed(sentence: str) -> typer.Exit:
    """Say it, and give what ends the command."""
    print(sentence, file=sys.stderr)
    return typer.Exit(1)
