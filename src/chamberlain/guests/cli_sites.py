"""Managed sites: listed, shown, and given rules for their guests."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options_shared import takes_options
from chamberlain.guests.cli_managed_options import AssignmentOptions, ManagedListOptions

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

sites = typer.Typer(name="site", help="Look at managed sites, and assign guest rules to them.", no_args_is_help=True)

Site = Annotated[str, typer.Argument(metavar="SITE", help="By name, address, or the id of its security group.")]


@sites.command("list")
@calls
@takes_options(ManagedListOptions)
def list_sites(call: "Call", *, options: ManagedListOptions) -> None:
    """List managed sites by name, with the guest rules that they have. For administrators."""
    from chamberlain.cli.output import Column
    from chamberlain.guests.cli import SITE, list_managed

    list_managed(call, SITE.list, options, (Column("SITE", "siteUrl"), Column("SHARING", "sharingCapability")))


@sites.command("show")
@calls
def show_site(call: "Call", site: Site) -> None:
    """Show a managed site with its guest rules and their effects. For administrators."""
    from chamberlain.guests.cli import SITE, show_managed

    show_managed(call, site, SITE)


@sites.command("assign")
@calls
@takes_options(AssignmentOptions)
def assign_to_site(call: "Call", *, site: Site, options: AssignmentOptions) -> None:
    """Assign a guest template and a guest policy to a site, or take them away. What is not named stays."""
    from chamberlain.guests.cli import SITE, assign

    assign(call, site, options, SITE)
