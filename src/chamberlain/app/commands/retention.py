"""Confirm the database's clock after a gap in time."""

import typer

from chamberlain.app.clock_and_ids import command_line, local_now
from chamberlain.app.errors import in_database
from chamberlain.cli.options import DataDir, settings_of
from chamberlain.core.errors import CannotStart
from chamberlain.database import clock
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE, ClockReading
from chamberlain.database.transactions import Database

retention = typer.Typer()


@retention.callback()
def _group() -> None:
    """Resume retention after a clock fault."""


@retention.command("confirm")
def confirm(data_dir: DataDir = None) -> None:
    """Confirm the database's clock, so that retention resumes."""
    reading = in_database(settings_of(data_dir=data_dir), confirm_clock)
    trusted, present = f"{reading.record.trusted_at:%Y-%m-%dT%H:%M:%SZ}", f"{reading.now:%Y-%m-%dT%H:%M:%SZ}"
    if not (reading.is_doubted or reading.is_behind):
        print(f"The database's clock shows {present} and was trusted already. Nothing had to be confirmed.")
        return
    print(f"The database's clock shows {present}. The last trusted reading was {trusted}.")
    print("The clock is trusted from now on. Retention goes on with its next run, within the hour.")


async def confirm_clock(database: Database) -> ClockReading:
    """Trust the database's clock as it is. Returns the reading before.

    Raises CannotStart while this machine's clock differs: then one of the two is wrong.
    """
    async with database.across_tenants() as tx:
        reading = await clock.observe(tx)
        if abs(reading.now - local_now()) > MOST_CLOCK_DIFFERENCE:
            raise CannotStart(
                f"The database's clock shows {reading.now:%Y-%m-%dT%H:%M:%SZ}, this machine's "
                f"{local_now():%Y-%m-%dT%H:%M:%SZ}. One of them is wrong: correct it, then run this again."
            )
        return await clock.confirm(tx, by=command_line().display_name)
