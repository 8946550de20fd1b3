"""How a command ends that cannot do what it was asked for: a sentence on standard error, and the exit code 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

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


class Misused(Exception):
    """The message says what does not fit, and what would."""


class ExitCode(IntEnum):
    """How a command has ended."""

    DONE = 0
    FAILED = 1
    MISUSED = 2
    NOT_ALLOWED = 3
    NOT_THERE = 4
    NOT_FINISHED = 5
    UNREACHABLE = 6
    # As sysexits.h has it: the configuration is wrong.
    SETTINGS = 78
    # As a shell has it: 128 and the number of SIGINT.
    INTERRUPTED = 130
