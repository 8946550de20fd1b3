"""Confirmation prompt for destructive commands."""

import typer

from chamberlain.cli.errors import ExitCode
from chamberlain.cli.output import lines
from chamberlain.cli.refusals import ended


def agreed(question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless `yes` is set. A refusal ends the command."""
    if yes:
        return
    try:
        answer = typer.confirm(lines(question), err=True)
    except typer.Abort:
        answer = False
    if not answer:
        raise ended(ExitCode.FAILED, "Nothing was changed. Use --yes to skip this question.")
