"""Confirm the database's clock from the command line, whether the service runs or not."""

from chamberlain.app.clock_and_ids import command_line, local_now
from chamberlain.app.databases import opened_at_hand
from chamberlain.app.errors import expected_faults
from chamberlain.core.errors import CannotStart
from chamberlain.database import clock
from chamberlain.database.clock import MOST_CLOCK_DIFFERENCE, ClockReading
from chamberlain.settings import Settings


async def confirm_clock(settings: Settings) -> ClockReading:
    """Trust the database's clock as it is. Returns the reading before. Raises CannotStart.

    Refused while this machine's clock differs: then one of the two is wrong.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database, database.across_tenants() as tx:
            reading = await clock.observe(tx)
            if abs(reading.now - local_now()) > MOST_CLOCK_DIFFERENCE:
                raise CannotStart(
                    f"The database's clock shows {reading.now:%Y-%m-%dT%H:%M:%SZ}, this machine's "
                    f"{local_now():%Y-%m-%dT%H:%M:%SZ}. One of them is wrong: correct it, then run this again."
                )
            return await clock.confirm(tx, by=command_line().display_name)
