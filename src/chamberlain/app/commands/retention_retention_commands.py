"""Retention at the command line, for administrators of the installation."""

import typer

from chamberlain.cli.options_machine import DataDir, settings_of

retention = typer.Typer(name="retention", help="Let retention go on after a gap in time.", no_args_is_help=True)


@retention.callback()
def _group() -> None:
    """Let retention go on after a gap in time."""


@retention.command("confirm")
def confirm(data_dir: DataDir = None) -> None:
    """Confirm that the database's clock is right, so that retention removes old rows again."""
    from chamberlain.app.commands.retention import confirm

    confirm(settings_of(data_dir=data_dir))
