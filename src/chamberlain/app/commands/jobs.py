"""Jobs that are held, at the command line: shown and released by whoever has the database."""

from typing import Annotated

import typer

from chamberlain.cli.options_machine import DataDir, settings_of

jobs = typer.Typer(name="jobs", help="Show and release jobs that are held.", no_args_is_help=True)


@jobs.command("list")
def list_jobs(data_dir: DataDir = None) -> None:
    """Print the jobs of all tenants that wait for a person, oldest first."""
    from chamberlain.app.commands.jobs_jobs import list_jobs

    list_jobs(settings_of(data_dir=data_dir))


@jobs.command("release")
def release_job(
    job: Annotated[str, typer.Argument(metavar="ID", help="The id of the job, as `jobs list` shows it.")],
    data_dir: DataDir = None,
) -> None:
    """Let a held job run again, when its cause is mended."""
    from chamberlain.app.commands.jobs_jobs import release

    release(settings_of(data_dir=data_dir), job)
