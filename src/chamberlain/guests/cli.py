# SPDX-License-Identifier: Apache-2.0
"""Commands of managed groups and sites: list, show and assign guest rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call, Service, show, show_list
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import POLICIES, id_of, managed, request_id_of, template_id
from chamberlain.cli.options import (
    IMPORT_PATIENCE,
    PATIENCE,
    All,
    Assigned,
    CsvFile,
    DryRun,
    GuestPolicy,
    GuestTemplate,
    IfMatch,
    JournalFile,
    Limit,
    MetadataFilter,
    NoPolicy,
    NoTemplate,
    Query,
    Report,
    RowTemplate,
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
class GroupListOptions(ManagedListOptions):
    """Filters of the list of groups."""

    metadata: MetadataFilter = None


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
    dry_run: DryRun = False
    wait: Wait = False
    timeout: Timeout = PATIENCE


NO_FILTERS: Mapping[str, str | None] = {}
# This UUID clears a field (docs/reference/groups-and-sites.md).
_NONE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Managed:
    """Operations on managed groups or sites."""

    noun: str
    list: Operation
    read: Operation
    change: Operation

    def id_of(self, service: Service, written: str, *, option: str | None = None) -> str:
        """Find the id of a group or site.

        It is given by id, name or address.
        """
        return id_of(service, written, managed(self.noun, self.list), option=option)


GROUP = Managed("group", operations.LIST_MANAGED_GROUPS, operations.READ_MANAGED_GROUP, operations.ASSIGN_TO_GROUP)
SITE = Managed("site", operations.LIST_MANAGED_SITES, operations.READ_MANAGED_SITE, operations.ASSIGN_TO_SITE)


def list_managed(
    call: Call,
    managed: Managed,
    options: ManagedListOptions,
    columns: Sequence[Column],
    more: Mapping[str, str | None] = NO_FILTERS,
) -> None:
    """List groups or sites with their assignments. `more` are further filters."""
    with call.service(Area.ADMIN) as service:
        rules = {"templateId": _template(service, options.template), "policyId": _policy(service, options.policy)}
    filters = {"assigned": options.assigned, "q": options.query, **rules, **more}
    before = (Column("ID", "id"), Column("NAME", "displayName"))
    behind = (Column("TEMPLATE", "template.name"), Column("POLICY", "policy.name"))
    at_most = most(options.limit, everything=options.everything)
    whole, noun = (*before, *columns, *behind), f"{managed.noun}s"
    show_list(call, Area.ADMIN, managed.list, filters=filters, columns=whole, most=at_most, noun=noun)


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
        if options.dry_run:
            _show_dry_run(call, service, id_, options, managed)
            return
        before = service.read(managed.read, id_)
        record = service.change(managed.change, id_, body=_body(service, options), if_match=options.if_match)
        request_id = record["assignmentRequestId"]
        if request_id == before["assignmentRequestId"]:
            say("It was already assigned.")
        elif options.wait:
            wait_for(call, str(request_id), options.timeout)
            record = service.read(managed.read, id_)
        show(call, record)
    if not options.wait and request_id != before["assignmentRequestId"]:
        hint_at(request_id)


def _show_dry_run(call: Call, service: Service, id_: str, options: AssignmentOptions, managed: Managed) -> None:
    body = _body(service, options)
    dry_run = service.change(managed.change, id_, body=body, if_match=options.if_match, dry_run=True)
    show(call, dry_run)
    say("Nothing was done." if dry_run["effects"] else "It is already assigned. Nothing would be done.")


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
    lists = (operations.LIST_COLLAB_TEMPLATES, operations.LIST_MAILBOX_TEMPLATES)
    return written and template_id(service, written, ("guest",), lists)


def _policy(service: Service, written: str | None) -> str | None:
    return written and id_of(service, written, POLICIES, option="--policy")


groups = CommandTable()


@groups.command("create")
@calls
@takes_options(GroupOptions)
def create_group(call: Call, *, options: GroupOptions) -> None:
    """Request a group. You become an owner."""
    submit_group(call, "group", options)


@groups.command("list")
@calls
@takes_options(GroupListOptions)
def list_groups(call: Call, *, options: GroupListOptions) -> None:
    """List the groups of the directory with their guest rules. For administrators."""

    columns = (Column("MAIL", "mail", wide=True), Column("TEAM", "isTeam"))
    list_managed(call, GROUP, options, columns, _metadata(options.metadata))


def _metadata(written: str | None) -> Mapping[str, str | None]:
    """Parse a key of metadata, with `=` and a value or alone."""
    if written is None:
        return NO_FILTERS
    key, sign, value = written.partition("=")
    if not key:
        raise Misused(f"--metadata {written} is invalid. Write KEY or KEY=VALUE.")
    return {"metadataKey": key, "metadataValue": value if sign else None}


@groups.command("show")
@calls
def show_group(
    call: Call,
    group: Annotated[
        str | None, typer.Argument(metavar="GROUP", help="Group, by name, mail address or id. For administrators.")
    ] = None,
    request: Annotated[
        str | None, typer.Option(metavar="REQUEST", help="Show the directory object of this request.")
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
        show_group_of_request(call, request_id_of(call, request, option="--request"), extension_prefix)


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


@groups.command("import")
@calls
def import_groups(
    call: Call,
    file: CsvFile,
    *,
    template: RowTemplate = None,
    dry_run: DryRun = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all groups exist.")] = False,
    timeout: Timeout = IMPORT_PATIENCE,
    report: Report = None,
    journal: JournalFile = None,
) -> None:
    """Request the groups and teams of a CSV file.

    Repeat the command to resume.
    """
    from chamberlain.cli.import_.results import ImportOptions
    from chamberlain.groups.import_.cli import import_file

    import_file(
        call,
        ImportOptions(file, template, dry_run=dry_run, wait=wait, timeout=timeout, report=report, journal=journal),
    )


assignments = CommandTable()


@assignments.callback()
def assignments_group() -> None:
    """Assign guest rules to many groups and sites."""


@assignments.command("import")
@calls
def import_assignments(
    call: Call,
    file: CsvFile,
    *,
    dry_run: DryRun = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all assignments have their effects.")] = False,
    timeout: Timeout = IMPORT_PATIENCE,
    report: Report = None,
    journal: JournalFile = None,
) -> None:
    """Assign the guest rules of a CSV file.

    Repeat the command to resume.
    """
    from chamberlain.cli.import_.results import ImportOptions
    from chamberlain.guests.import_.cli import import_file

    import_file(
        call, ImportOptions(file, None, dry_run=dry_run, wait=wait, timeout=timeout, report=report, journal=journal)
    )


sites = CommandTable()

Site = Annotated[str, typer.Argument(metavar="SITE", help="Site, by name, address, or id of its security group.")]


@sites.command("list")
@calls
@takes_options(ManagedListOptions)
def list_sites(call: Call, *, options: ManagedListOptions) -> None:
    """List managed sites with their guest rules. For administrators."""

    list_managed(call, SITE, options, (Column("SITE", "siteUrl", wide=True), Column("SHARING", "sharingCapability")))


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
