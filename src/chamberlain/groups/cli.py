"""Teams: asked for."""

from typing import TYPE_CHECKING

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options_shared import takes_options
from chamberlain.groups.cli_group_options import GroupOptions

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

teams = typer.Typer(name="team", help="Ask for teams. A team is a group: `group` shows it.", no_args_is_help=True)


@teams.command("create")
@calls
@takes_options(GroupOptions)
def create_team(call: "Call", *, options: GroupOptions) -> None:
    """Ask for a team. Whoever asks is an owner, and needs a licence for teams."""
    from chamberlain.groups.cli_group_orders import submit_group

    submit_group(call, "team", options)
