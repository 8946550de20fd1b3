"""Managed sites: listed, shown, and given rules for their guests."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.parameters import (
    PATIENCE,
    All,
    Assigned,
    GuestPolicy,
    GuestTemplate,
    IfMatch,
    Limit,
    NoPolicy,
    NoTemplate,
    Query,
    Timeout,
    Wait,
    most,
)

if TYPE_CHECKING:
    from chamberlain.cli.call import Call

sites = typer.Typer(name="site", help="Look at managed sites, and assign guest rules to them.", no_args_is_help=True)

Site = Annotated[str, typer.Argument(metavar="ID", help="The id of the site's security group.")]


@sites.command("list")
@calls
def list_sites(
    call: "Call",
    *,
    assigned: Assigned = None,
    template: GuestTemplate = None,
    policy: GuestPolicy = None,
    query: Query = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List managed sites by name, with the guest rules that they have. For administrators."""
    from chamberlain.cli.managed import list_managed
    from chamberlain.cli.showing import Column
    from chamberlain_client.operations import LIST_MANAGED_SITES

    columns = (Column("SITE", "siteUrl"), Column("SHARING", "sharingCapability"))
    list_managed(
        call,
        LIST_MANAGED_SITES,
        filters={"assigned": assigned, "q": query},
        template=template,
        policy=policy,
        columns=columns,
        most=most(limit, everything=everything),
    )


@sites.command("show")
@calls
def show_site(call: "Call", site: Site) -> None:
    """Show a managed site with its guest rules and their effects. For administrators."""
    from chamberlain.cli.managed import show_managed
    from chamberlain_client.operations import READ_MANAGED_SITE

    show_managed(call, READ_MANAGED_SITE, site)


@sites.command("assign")
@calls
def assign_to_site(
    call: "Call",
    *,
    site: Site,
    template: GuestTemplate = None,
    policy: GuestPolicy = None,
    if_match: IfMatch = None,
    no_template: NoTemplate = False,
    no_policy: NoPolicy = False,
    wait: Wait = False,
    timeout: Timeout = PATIENCE,
) -> None:
    """Assign a guest template and a guest policy to a site, or take them away. What is not named stays."""
    from chamberlain.cli.managed import Assignment, assign
    from chamberlain_client.operations import ASSIGN_TO_SITE, READ_MANAGED_SITE

    wanted = Assignment(template, policy, no_template, no_policy)
    within = timeout if wait else None
    assign(call, ASSIGN_TO_SITE, READ_MANAGED_SITE, site, wanted=wanted, if_match=if_match, within=within)
