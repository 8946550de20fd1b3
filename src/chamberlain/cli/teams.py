"""Teams: asked for."""

from typing import TYPE_CHECKING

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.parameters import (
    PATIENCE,
    Body,
    Description,
    DryRun,
    GroupName,
    GroupTemplate,
    Key,
    Label,
    MemberShip,
    Metadata,
    People,
    Timeout,
    Wait,
)

if TYPE_CHECKING:
    from chamberlain.cli.call import Call

teams = typer.Typer(name="team", help="Ask for teams. A team is a group: `group` shows it.", no_args_is_help=True)


@teams.command("create")
@calls
def create_team(
    call: "Call",
    *,
    display_name: GroupName = None,
    template: GroupTemplate = None,
    description: Description = None,
    membership: MemberShip = None,
    owner: People = None,
    member: People = None,
    label: Label = None,
    metadata: Metadata = None,
    body: Body = None,
    dry_run: DryRun = False,
    idempotency_key: Key = None,
    wait: Wait = False,
    timeout: Timeout = PATIENCE,
) -> None:
    """Ask for a team. Whoever asks is an owner, and needs a licence for teams."""
    from chamberlain.cli.group_orders import GroupOptions, submit_group
    from chamberlain.cli.submitting import Manner

    options = GroupOptions("team", display_name, template, description, membership, owner, member, label, metadata)
    submit_group(call, options, body, Manner(dry_run, idempotency_key, wait, timeout))
