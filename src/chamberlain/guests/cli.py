"""Commands of managed groups and sites: list, show and assign guest rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from chamberlain.cli.arguments import id_of_managed, id_of_name
from chamberlain.cli.calls import Area, Call, Service, show, show_list
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.options import (
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
    calls,
    most,
    takes_options,
)
from chamberlain.cli.output import Column, Record, say
from chamberlain.groups.cli import GroupOptions, submit_group
from chamberlain.requests.cli import hint_at, wait_for
from chamberlain_client import operations
from chamberlain_client.operations import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedListOptions:
    """Filters of the list of groups or sites."""

    assigned: Assigned = None
    template: GuestTemplate = None
    policy: GuestPolicy = None
    query: Query = None
    limit: Limit = 50
    everything: All = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentOptions:
    """Options of an assignment.

    Template and policy are given by name or id.
    """

    template: GuestTemplate = None
    policy: GuestPolicy = None
    if_match: IfMatch = None
    no_template: NoTemplate = False
    no_policy: NoPolicy = False
    wait: Wait = False
    timeout: Timeout = PATIENCE


# This UUID clears a field (docs/reference/groups-and-sites.md).
_NONE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Managed:
    """Operations on managed groups or sites."""

    noun: str
    list: Operation
    read: Operation
    change: Operation

    def id_of(self, service: Service, written: str) -> str:
        """Find the id of a group or site.

        It is given by id, name or address.
        """
        return id_of_managed(service, written, self.list, self.noun)


GROUP = Managed("group", operations.LIST_MANAGED_GROUPS, operations.READ_MANAGED_GROUP, operations.ASSIGN_TO_GROUP)
SITE = Managed("site", operations.LIST_MANAGED_SITES, operations.READ_MANAGED_SITE, operations.ASSIGN_TO_SITE)


def list_managed(call: Call, operation: Operation, options: ManagedListOptions, columns: Sequence[Column]) -> None:
    """List groups or sites with their assignments."""
    with call.service(Area.ADMIN) as service:
        rules = {"templateId": _template(service, options.template), "policyId": _policy(service, options.policy)}
    filters = {"assigned": options.assigned, "q": options.query, **rules}
    before = (Column("ID", "id"), Column("NAME", "displayName"))
    behind = (Column("TEMPLATE", "template.name"), Column("POLICY", "policy.name"))
    at_most = most(options.limit, everything=options.everything)
    show_list(call, Area.ADMIN, operation, filters=filters, columns=(*before, *columns, *behind), most=at_most)


def show_managed(call: Call, written: str, managed: Managed) -> None:
    """Show one group or site."""
    with call.service(Area.ADMIN) as service:
        show(call, service.read(managed.read, managed.id_of(service, written)))


def show_group_of_request(call: Call, request_id: str, prefix: str) -> None:
    """Show the directory object of a request.

    It is found by the extension attribute of the tenant.
    """
    with call.service(Area.COLLAB) as service:
        found = service.find_group(request_id, prefix)
    if found is None:
        sentence = f"The directory shows no group of request {request_id} yet: chamberlain request show {request_id}"
        raise ended(ExitCode.NOT_THERE, sentence)
    show(call, found)


def assign(call: Call, written: str, options: AssignmentOptions, managed: Managed) -> None:
    """Change the assignment, show the record, and optionally wait for the effects."""
    with call.service(Area.ADMIN) as service:
        id_ = managed.id_of(service, written)
        before = service.read(managed.read, id_)
        record = service.change(managed.change, id_, body=_body(service, options), if_match=options.if_match)
        request_id = record["assignmentRequestId"]
        if request_id == before["assignmentRequestId"]:
            say("It was assigned so already.")
        elif options.wait:
            wait_for(call, str(request_id), options.timeout)
            record = service.read(managed.read, id_)
        show(call, record)
    if not options.wait and request_id != before["assignmentRequestId"]:
        hint_at(request_id)


def _body(service: Service, wanted: AssignmentOptions) -> Record:
    if (wanted.template and wanted.no_template) or (wanted.policy and wanted.no_policy):
        raise Misused("Do not assign and clear the same field in one command.")
    template = _NONE if wanted.no_template else _template(service, wanted.template)
    policy = _NONE if wanted.no_policy else _policy(service, wanted.policy)
    body = {name: value for name, value in (("templateId", template), ("policyId", policy)) if value is not None}
    if not body:
        raise Misused("Say what to assign or to take away: --template, --policy, --no-template, --no-policy.")
    return body


def _template(service: Service, written: str | None) -> str | None:
    lists = (operations.LIST_COLLAB_TEMPLATES,)
    return written and id_of_name(service, written, lists, "template", ("guest",))


def _policy(service: Service, written: str | None) -> str | None:
    return written and id_of_name(service, written, (operations.LIST_POLICIES,), "policy")


groups = typer.Typer()


@groups.command("create")
@calls
@takes_options(GroupOptions)
def create_group(call: Call, *, options: GroupOptions) -> None:
    """Request a group. You become an owner."""
    submit_group(call, "group", options)


@groups.command("list")
@calls
@takes_options(ManagedListOptions)
def list_groups(call: Call, *, options: ManagedListOptions) -> None:
    """List the groups of the directory with their guest rules. For administrators."""

    list_managed(call, GROUP.list, options, (Column("MAIL", "mail"), Column("TEAM", "isTeam")))


@groups.command("show")
@calls
def show_group(
    call: Call,
    group: Annotated[
        str | None, typer.Argument(metavar="GROUP", help="Group, by name, mail address or id. For administrators.")
    ] = None,
    request: Annotated[
        str | None, typer.Option(metavar="ID", help="Show the directory object of this request.")
    ] = None,
    extension_prefix: Annotated[
        str, typer.Option(metavar="NAME", help="With --request: prefix of the tenant's extension attributes.")
    ] = "chamberlain",
) -> None:
    """Show a group with its guest rules and their effects.

    With --request, show the group of a request.
    """

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
    call: Call,
    *,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Group, by name, mail address or id.")],
    options: AssignmentOptions,
) -> None:
    """Assign or clear the guest template and policy of a group."""
    assign(call, group, options, GROUP)


sites = typer.Typer()

Site = Annotated[str, typer.Argument(metavar="SITE", help="Site, by name, address, or id of its security group.")]


@sites.command("list")
@calls
@takes_options(ManagedListOptions)
def list_sites(call: Call, *, options: ManagedListOptions) -> None:
    """List managed sites with their guest rules. For administrators."""

    list_managed(call, SITE.list, options, (Column("SITE", "siteUrl"), Column("SHARING", "sharingCapability")))


@sites.command("show")
@calls
def show_site(call: Call, site: Site) -> None:
    """Show a managed site with its guest rules and their effects.

    For administrators.
    """
    show_managed(call, site, SITE)


@sites.command("assign")
@calls
@takes_options(AssignmentOptions)
def assign_to_site(call: Call, *, site: Site, options: AssignmentOptions) -> None:
    """Assign or clear the guest template and policy of a site."""
    assign(call, site, options, SITE)
