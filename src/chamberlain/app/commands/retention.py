"""Confirm the database's clock after a gap in time."""

import asyncio

from chamberlain.app.commands.retention_clocks_by_hand import confirm_clock
from chamberlain.cli.errors import told_faults
from chamberlain.settings import Settings


def confirm(settings: Settings) -> None:
    """Trust the database's clock as it is, and print both times."""
    with told_faults():
        reading = asyncio.run(confirm_clock(settings))
    trusted, present = f"{reading.record.trusted_at:%Y-%m-%dT%H:%M:%SZ}", f"{reading.now:%Y-%m-%dT%H:%M:%SZ}"
    if not (reading.is_doubted or reading.is_behind):
        print(f"The database's clock shows {present} and was trusted already. Nothing had to be confirmed.")
        return
    print(f"The database's clock shows {present}. The last trusted reading was {trusted}.")
    print("The clock is trusted from now on. Retention goes on with its next run, within the hour.")
