# SPDX-License-Identifier: Apache-2.0
"""Confirm the database's clock after a gap in time."""

from chamberlain.app.clock_and_ids import command_line, local_now
from chamberlain.app.errors import in_database
from chamberlain.core.errors import CannotStart
from chamberlain.database import clock
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE, ClockReading
from chamberlain.database.transactions import Database
from chamberlain.settings import Settings


def confirm_retention(settings: Settings) -> None:
    """Confirm the database's clock, and print both readings."""
    reading = in_database(settings, confirm_clock)
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
