# SPDX-License-Identifier: Apache-2.0
"""The start page."""

from starlette.responses import Response

from chamberlain.console.visit import Visit


async def show_home(visit: Visit) -> Response:
    """Show the start page."""
    return visit.render("home.html")
