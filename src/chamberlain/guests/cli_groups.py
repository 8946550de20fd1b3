"""Groups: asked for, listed, shown, and given rules for their guests."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options_shared import takes_options
from chamberlain.groups.cli_group_options import GroupOptions
from chamberlain.guests.cli_managed_options import AssignmentOptions, ManagedListOptions

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

groups = typer.Typer(name="group", help="Ask for groups, look at them, assign guest rules.", no_args_is_help=True)


@groups.command("create")
@calls
@takes_options(GroupOptions)
def create_group(call: "Call", *, options: GroupOptions) -> None:
    """Ask for a group. Whoever asks is an owner."""
    from chamberlain.groups.cli_group_orders import submit_group

    submit_group(call, "group", options)


@groups.command("list")
@calls
@takes_options(ManagedListOptions)
def list_groups(call: "Call", *, options: ManagedListOptions) -> None:
    """List the groups of the directory by name, with the guest rules that they have. For administrators."""
    from chamberlain.cli.output import Column
    from chamberlain.guests.cli import GROUP, list_managed

    list_managed(call, GROUP.list, options, (Column("MAIL", "mail"), Column("TEAM", "isTeam")))


@groups.command("show")
@calls
def show_group(
    call: "Call",
    group: Annotated[
        str | None, typer.Argument(metavar="GROUP", help="By name, mail address or id. For administrators.")
    ] = None,
    request: Annotated[
        str | None, typer.Option(metavar="ID", help="Look into the directory for what this request has made.")
    ] = None,
    extension_prefix: Annotated[
        str, typer.Option(metavar="NAME", help="The tenant's, with --request, where it has another one.")
    ] = "chamberlain",
) -> None:
    """Show a group with its guest rules and their effects; or, as the directory shows it, the group of a request."""
    from chamberlain.cli.errors_misuse import Misused
    from chamberlain.guests.cli import GROUP, show_group_of_request, show_managed

    if (group is None) == (request is None):
        raise Misused("Name either the GROUP, or the --request that has made it.")
    if group is not None:
        show_managed(call, group, GROUP)
    elif request is not None:
        show_group_of_request(call, request, extension_prefix)


@groups.command("assign")
@calls
@takes_options(AssignmentOptions)
def assign_to_group(
    call: "Call",
    *,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="By name, mail address or id.")],
    options: AssignmentOptions,
) -> None:
    """Assign a guest template and a guest policy to a group, or take them away. What is not named stays."""
    from chamberlain.guests.cli import GROUP, assign

    assign(call, group, options, GROUP)
