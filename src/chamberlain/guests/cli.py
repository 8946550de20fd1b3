"""Groups and sites under management: listed, shown, and given guest rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.calls_service import Service
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.errors_misuse import Misused
from chamberlain.cli.errors_refusals import ended
from chamberlain.cli.listing import show, show_list
from chamberlain.cli.names import id_of_managed, id_of_name
from chamberlain.cli.options import most
from chamberlain.cli.output import Column, Record, say
from chamberlain.guests.cli_managed_options import AssignmentOptions, ManagedListOptions
from chamberlain.requests.cli_waiting import hint_at, wait_for
from chamberlain_client import operations
from chamberlain_client.operations import Operation

# What clears a field (docs/reference/groups-and-sites.md).
_NONE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Managed:
    """What is managed, by its noun, and the operations on it."""

    noun: str
    list: Operation
    read: Operation
    change: Operation

    def id_of(self, service: Service, written: str) -> str:
        """The id of the one that was written down by id, name or address."""
        return id_of_managed(service, written, self.list, self.noun)


GROUP = Managed("group", operations.LIST_MANAGED_GROUPS, operations.READ_MANAGED_GROUP, operations.ASSIGN_TO_GROUP)
SITE = Managed("site", operations.LIST_MANAGED_SITES, operations.READ_MANAGED_SITE, operations.ASSIGN_TO_SITE)


def list_managed(call: Call, operation: Operation, options: ManagedListOptions, columns: Sequence[Column]) -> None:
    """Show groups or sites, by what is assigned to them."""
    with call.service(Area.ADMIN) as service:
        rules = {"templateId": _template(service, options.template), "policyId": _policy(service, options.policy)}
    filters = {"assigned": options.assigned, "q": options.query, **rules}
    before = (Column("ID", "id"), Column("NAME", "displayName"))
    behind = (Column("TEMPLATE", "template.name"), Column("POLICY", "policy.name"))
    at_most = most(options.limit, everything=options.everything)
    show_list(call, Area.ADMIN, operation, filters=filters, columns=(*before, *columns, *behind), most=at_most)


def show_managed(call: Call, written: str, managed: Managed) -> None:
    """Show one of them."""
    with call.service(Area.ADMIN) as service:
        show(call, service.read(managed.read, managed.id_of(service, written)))


def show_group_of_request(call: Call, request_id: str, prefix: str) -> None:
    """Show what the directory has of a request, by the extension attribute with the tenant's prefix."""
    with call.service(Area.COLLAB) as service:
        found = service.find_group(request_id, prefix)
    if found is None:
        sentence = f"The directory shows no group of request {request_id} yet: chamberlain request show {request_id}"
        raise ended(ExitCode.NOT_THERE, sentence)
    show(call, found)


def assign(call: Call, written: str, options: AssignmentOptions, managed: Managed) -> None:
    """Change what is assigned, show the record, and wait for the effects where that is wanted."""
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
        raise Misused("What is assigned cannot be taken away in the same call.")
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
