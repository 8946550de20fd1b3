# SPDX-License-Identifier: Apache-2.0
"""Command that shows the caller."""

from chamberlain.cli.calls import Area, Call, show_one
from chamberlain_client import operations


def show_me(call: Call) -> None:
    """Print the user or the application of the token."""
    show_one(call, Area.REQUESTS, operations.READ_ME)
