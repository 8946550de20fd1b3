"""Groups: asked for, listed, shown, and given rules for their guests."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.errors_misuse import Misused
from chamberlain.cli.listing import show
from chamberlain.cli.options_shared import takes_options
from chamberlain.cli.output import Column, say
from chamberlain.groups.cli_group_options import GroupOptions
from chamberlain.guests.cli import GROUP, _body, list_managed, show_group_of_request, show_managed
from chamberlain.guests.cli_managed_options import AssignmentOptions, ManagedListOptions
from chamberlain.requests.cli_waiting import hint_at, wait_for

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
    from chamberlain.guests.cli import GROUP

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
    from chamberlain.guests.cli import GROUP

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
    with call.service(Area.ADMIN) as service:
        id_ = GROUP.id_of(service, group)
        before = service.read(GROUP.read, id_)
        record = service.change(GROUP.change, id_, body=_body(service, options), if_match=options.if_match)
        request_id = record["assignmentRequestId"]
        if request_id == before["assignmentRequestId"]:
            say("It was assigned so already.")
        elif options.wait:
            wait_for(call, str(request_id), options.timeout)
            record = service.read(GROUP.read, id_)
        show(call, record)
    if not options.wait and request_id != before["assignmentRequestId"]:
        hint_at(request_id)
