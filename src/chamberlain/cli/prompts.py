"""Asking before something goes that nobody brings back."""

import typer

from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.errors_refusals import ended
from chamberlain.cli.output_plain_text import lines


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
