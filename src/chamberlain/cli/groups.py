"""Groups: asked for, listed, shown, and given rules for their guests."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.parameters import (
    PATIENCE,
    All,
    Assigned,
    Body,
    Description,
    DryRun,
    GroupName,
    GroupTemplate,
    GuestPolicy,
    GuestTemplate,
    IfMatch,
    Key,
    Label,
    Limit,
    MemberShip,
    Metadata,
    NoPolicy,
    NoTemplate,
    People,
    Query,
    Timeout,
    Wait,
    most,
)

if TYPE_CHECKING:
    from chamberlain.cli.call import Call

groups = typer.Typer(name="group", help="Ask for groups, look at them, assign guest rules.", no_args_is_help=True)


@groups.command("create")
@calls
def create_group(
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
    """Ask for a group. Whoever asks is an owner."""
    from chamberlain.cli.group_orders import GroupOptions, submit_group
    from chamberlain.cli.submitting import Manner

    options = GroupOptions("group", display_name, template, description, membership, owner, member, label, metadata)
    submit_group(call, options, body, Manner(dry_run, idempotency_key, wait, timeout))


@groups.command("list")
@calls
def list_groups(
    call: "Call",
    *,
    assigned: Assigned = None,
    template: GuestTemplate = None,
    policy: GuestPolicy = None,
    query: Query = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List the groups of the directory by name, with the guest rules that they have. For administrators."""
    from chamberlain.cli.managed import list_managed
    from chamberlain.cli.showing import Column
    from chamberlain_client.operations import LIST_MANAGED_GROUPS

    columns = (Column("MAIL", "mail"), Column("TEAM", "isTeam"))
    list_managed(
        call,
        LIST_MANAGED_GROUPS,
        filters={"assigned": assigned, "q": query},
        template=template,
        policy=policy,
        columns=columns,
        most=most(limit, everything=everything),
    )


@groups.command("show")
@calls
def show_group(
    call: "Call",
    group: Annotated[str | None, typer.Argument(metavar="ID", help="Its id. For administrators.")] = None,
    request: Annotated[
        str | None, typer.Option(metavar="ID", help="Look into the directory for what this request has made.")
    ] = None,
    extension_prefix: Annotated[
        str, typer.Option(metavar="NAME", help="The tenant's, with --request, where it has another one.")
    ] = "chamberlain",
) -> None:
    """Show a group with its guest rules and their effects; or, as the directory shows it, the group of a request."""
    from chamberlain.cli.managed import show_group_of_request, show_managed
    from chamberlain.cli.misuse import Misused
    from chamberlain_client.operations import READ_MANAGED_GROUP

    if (group is None) == (request is None):
        raise Misused("Name either the ID of the group, or the --request that has made it.")
    if group is not None:
        show_managed(call, READ_MANAGED_GROUP, group)
    elif request is not None:
        show_group_of_request(call, request, extension_prefix)


@groups.command("assign")
@calls
def assign_to_group(
    call: "Call",
    *,
    group: Annotated[str, typer.Argument(metavar="ID", help="The id of the group.")],
    template: GuestTemplate = None,
    policy: GuestPolicy = None,
    if_match: IfMatch = None,
    no_template: NoTemplate = False,
    no_policy: NoPolicy = False,
    wait: Wait = False,
    timeout: Timeout = PATIENCE,
) -> None:
    """Assign a guest template and a guest policy to a group, or take them away. What is not named stays."""
    from chamberlain.cli.managed import Assignment, assign
    from chamberlain_client.operations import ASSIGN_TO_GROUP, READ_MANAGED_GROUP

    wanted = Assignment(template, policy, no_template, no_policy)
    within = timeout if wait else None
    assign(call, ASSIGN_TO_GROUP, READ_MANAGED_GROUP, group, wanted=wanted, if_match=if_match, within=within)
