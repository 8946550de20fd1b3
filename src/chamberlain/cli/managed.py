"""Groups and sites under management: listed, shown, and given guest rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chamberlain.cli.call import Area, Call
from chamberlain.cli.exit_codes import ExitCode
from chamberlain.cli.listing import show, show_list, show_one
from chamberlain.cli.misuse import Misused
from chamberlain.cli.names import id_of_name
from chamberlain.cli.refusals import ended
from chamberlain.cli.service import Service
from chamberlain.cli.showing import Column, Record, say
from chamberlain.cli.waiting import hint_at, wait_for
from chamberlain_client import operations
from chamberlain_client.calls import QueryValue
from chamberlain_client.operations import Operation

# What clears a field (docs/reference/groups-and-sites.md).
_NONE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is to be assigned, by name or id, and what is to be taken away."""

    template: str | None
    policy: str | None
    no_template: bool
    no_policy: bool


def list_managed(
    call: Call,
    operation: Operation,
    *,
    filters: Mapping[str, QueryValue],
    template: str | None,
    policy: str | None,
    columns: Sequence[Column],
    most: int | None,
) -> None:
    """Show groups or sites, by what is assigned to them."""
    with call.service(Area.ADMIN) as service:
        filters = {**filters, "templateId": _template(service, template), "policyId": _policy(service, policy)}
    both = (Column("ID", "id"), Column("NAME", "displayName"))
    rules = (Column("TEMPLATE", "template.name"), Column("POLICY", "policy.name"))
    show_list(call, Area.ADMIN, operation, filters=filters, columns=(*both, *columns, *rules), most=most)


def show_managed(call: Call, operation: Operation, id_: str) -> None:
    """Show one of them."""
    show_one(call, Area.ADMIN, operation, id_)


def show_group_of_request(call: Call, request_id: str, prefix: str) -> None:
    """Show what the directory has of a request, by the extension attribute with the tenant's prefix."""
    with call.service(Area.COLLAB) as service:
        found = service.find_group(request_id, prefix)
    if found is None:
        sentence = f"The directory shows no group of request {request_id} yet: chamberlain request show {request_id}"
        raise ended(ExitCode.NOT_THERE, sentence)
    show(call, found)


def assign(
    call: Call,
    change: Operation,
    read: Operation,
    id_: str,
    *,
    wanted: Assignment,
    if_match: str | None,
    within: float | None,
) -> None:
    """Change what is assigned, show the record, and wait for the effects where seconds for it are given."""
    with call.service(Area.ADMIN) as service:
        before = service.read(read, id_)
        record = service.change(change, id_, body=_body(service, wanted), if_match=if_match)
        request_id = record["assignmentRequestId"]
        if request_id == before["assignmentRequestId"]:
            say("It was assigned so already.")
        elif within is not None:
            wait_for(call, str(request_id), within)
            record = service.read(read, id_)
        show(call, record)
    if within is None and request_id != before["assignmentRequestId"]:
        hint_at(request_id)


def _body(service: Service, wanted: Assignment) -> Record:
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
