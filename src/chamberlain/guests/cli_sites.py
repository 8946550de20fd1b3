"""Managed sites: listed, shown, and given rules for their guests."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show
from chamberlain.cli.options_shared import takes_options
from chamberlain.cli.output import Column, say
from chamberlain.guests.cli import SITE, _body, list_managed
from chamberlain.guests.cli_managed_options import AssignmentOptions, ManagedListOptions
from chamberlain.requests.cli_waiting import hint_at, wait_for

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

sites = typer.Typer(name="site", help="Look at managed sites, and assign guest rules to them.", no_args_is_help=True)

Site = Annotated[str, typer.Argument(metavar="SITE", help="By name, address, or the id of its security group.")]


@sites.command("list")
@calls
@takes_options(ManagedListOptions)
def list_sites(call: "Call", *, options: ManagedListOptions) -> None:
    """List managed sites by name, with the guest rules that they have. For administrators."""
    from chamberlain.guests.cli import SITE

    list_managed(call, SITE.list, options, (Column("SITE", "siteUrl"), Column("SHARING", "sharingCapability")))


@sites.command("show")
@calls
def show_site(call: "Call", site: Site) -> None:
    """Show a managed site with its guest rules and their effects. For administrators."""
    with call.service(Area.ADMIN) as service:
        show(call, service.read(SITE.read, SITE.id_of(service, site)))


@sites.command("assign")
@calls
@takes_options(AssignmentOptions)
def assign_to_site(call: "Call", *, site: Site, options: AssignmentOptions) -> None:
    """Assign a guest template and a guest policy to a site, or take them away. What is not named stays."""
    with call.service(Area.ADMIN) as service:
        id_ = SITE.id_of(service, site)
        before = service.read(SITE.read, id_)
        record = service.change(SITE.change, id_, body=_body(service, options), if_match=options.if_match)
        request_id = record["assignmentRequestId"]
        if request_id == before["assignmentRequestId"]:
            say("It was assigned so already.")
        elif options.wait:
            wait_for(call, str(request_id), options.timeout)
            record = service.read(SITE.read, id_)
        show(call, record)
    if not options.wait and request_id != before["assignmentRequestId"]:
        hint_at(request_id)
