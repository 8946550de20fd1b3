# SPDX-License-Identifier: Apache-2.0
"""Commands of substitutes: show, name and withdraw."""

from typing import Annotated, Final

import typer

from chamberlain.cli.calls import Area, Call, show
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import user_ids
from chamberlain.cli.options import calls
from chamberlain.cli.output import say
from chamberlain_client import operations

# Longest substitution of the API, in days.
MOST_DAYS: Final = 60

substitutes = CommandTable()


@substitutes.command("show")
@calls
def show_substitute(call: Call) -> None:
    """Show your substitute, and the approvers for whom you decide."""
    with call.service(Area.REQUESTS) as service:
        show(call, service.read(operations.READ_SUBSTITUTE))


@substitutes.command("name")
@calls
def name_substitute(
    call: Call,
    user: Annotated[str, typer.Argument(metavar="USER", help="User, by id or mail address.")],
    *,
    days: Annotated[int, typer.Option(metavar="DAYS", min=1, max=MOST_DAYS, help="Days from now.")],
) -> None:
    """Name the user who decides on requests for you."""
    with call.service(Area.REQUESTS) as service:
        (user_id,) = user_ids(service, [user], option="USER")
        show(call, service.change(operations.NAME_SUBSTITUTE, body={"userId": user_id, "days": days}))


@substitutes.command("withdraw")
@calls
def withdraw_substitute(call: Call) -> None:
    """Withdraw your substitute."""
    with call.service(Area.REQUESTS) as service:
        service.change(operations.WITHDRAW_SUBSTITUTE)
    say("You have no substitute.")
