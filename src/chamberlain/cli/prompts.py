"""Asking before something goes that nobody brings back."""

import typer

from chamberlain.cli.errors import ExitCode
from chamberlain.cli.output import lines
from chamberlain.cli.refusals import ended


def agreed(question: str, *, yes: bool) -> None:
    """Ask, unless it was answered by an option; who does not agree ends the command."""
    if yes:
        return
    try:
        answer = typer.confirm(lines(question), err=True)
    except typer.Abort:
        answer = False
    if not answer:
        raise ended(ExitCode.FAILED, "Nothing was changed. With --yes nobody is asked.")
