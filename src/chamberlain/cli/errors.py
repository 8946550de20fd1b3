# SPDX-License-Identifier: Apache-2.0
"""Exit codes, and the errors that end a command."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from chamberlain.cli.output import say
from chamberlain.core.errors import OperatorFault, Refusal


@contextmanager
def reported_faults() -> Iterator[None]:
    """Print expected errors and exit with 1."""
    try:
        yield
    except (OperatorFault, Refusal) as error:
        raise failed(str(error)) from error


def failed(sentence: str) -> typer.Exit:
    """Print an error, and return the exception that ends the command."""
    print(sentence, file=sys.stderr)
    return typer.Exit(1)


class Misused(Exception):
    """Invalid usage. The message contains the fix."""


@contextmanager
def reported_misuse() -> Iterator[None]:
    """Print invalid usage and exit with 2."""
    try:
        yield
    except Misused as error:
        raise ended(ExitCode.MISUSED, str(error)) from error


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    DONE = 0
    FAILED = 1
    MISUSED = 2
    NOT_ALLOWED = 3
    NOT_THERE = 4
    NOT_FINISHED = 5
    UNREACHABLE = 6
    # EX_CONFIG of sysexits.h.
    SETTINGS = 78
    # Shell convention: 128 plus the number of SIGINT.
    INTERRUPTED = 130


def ended(code: ExitCode, *sentences: str) -> typer.Exit:
    """Print the sentences, and return the exception that ends the command."""
    for sentence in sentences:
        say(sentence)
    return typer.Exit(int(code))
