"""Teams: asked for."""

from typing import TYPE_CHECKING

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.group_options import GroupOptions
from chamberlain.cli.shared import takes_options

if TYPE_CHECKING:
    from chamberlain.cli.call import Call

teams = typer.Typer(name="team", help="Ask for teams. A team is a group: `group` shows it.", no_args_is_help=True)


@teams.command("create")
@calls
@takes_options(GroupOptions)
def create_team(call: "Call", *, options: GroupOptions) -> None:
    """Ask for a team. Whoever asks is an owner, and needs a licence for teams."""
    from chamberlain.cli.group_orders import submit_group

    submit_group(call, "team", options)
