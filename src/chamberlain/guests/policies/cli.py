# SPDX-License-Identifier: Apache-2.0
"""Commands of guest policies: list, show, create, replace, simulate and delete."""

from typing import Annotated, Any

import typer

from chamberlain.cli.arguments import read_document
from chamberlain.cli.calls import Area, Call, Service, show, show_list, show_report
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import POLICIES, id_of
from chamberlain.cli.options import Document, IfMatch, Key, Yes, agreed, calls
from chamberlain.cli.output import Column, say
from chamberlain.guests.cli import GROUP, SITE
from chamberlain_client import operations


def _id(service: Service, written: str) -> str:
    return id_of(service, written, POLICIES)


_COLUMNS = (
    Column("AT", "at"),
    Column("WHAT", "type"),
    Column("KIND", "kind"),
    Column("ABOUT", "subject.displayName"),
    Column("GUEST", "guest.displayName"),
    Column("ACTION", "action"),
    Column("ON", "actionAt"),
)


def _counted(simulated: Any) -> str:  # noqa: ANN401 - as above.
    counts = simulated["counts"]
    kinds = (("finding", counts["findings"]), ("action", counts["actions"]))
    each = [f"{noun} {name} {number}" for noun, numbers in kinds for name, number in numbers.items()]
    looked_at = (f"groups and sites {simulated['subjects']}", f"guests {simulated['guests']}")
    return ", ".join([*looked_at, f"reminders {counts['reminders']}", *each])


policies = CommandTable()

Policy = Annotated[str, typer.Argument(metavar="POLICY", help="Policy, by name or id.")]


@policies.command("list")
@calls
def list_policies(call: Call) -> None:
    """List all guest policies."""
    columns = (
        Column("ID", "id"),
        Column("NAME", "name"),
        Column("ACTIVE", "active"),
        Column("DESCRIPTION", "description"),
    )
    show_list(call, Area.ADMIN, operations.LIST_POLICIES, filters={}, columns=columns, most=None, noun="policies")


@policies.command("show")
@calls
def show_policy(call: Call, policy: Policy) -> None:
    """Show a policy with its rules."""
    with call.service(Area.ADMIN) as service:
        show(call, service.read(operations.READ_POLICY, _id(service, policy)))


@policies.command("create")
@calls
def create_policy(call: Call, *, body: Document, idempotency_key: Key = None) -> None:
    """Create a policy from a JSON file."""
    document, _ = read_document(body)
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.CREATE_POLICY, body=document, key=idempotency_key))


@policies.command("replace")
@calls
def replace_policy(call: Call, policy: Policy, *, body: Document, if_match: IfMatch = None) -> None:
    """Replace a policy by a JSON file."""
    document, etag = read_document(body)
    with call.service(Area.ADMIN) as service:
        policy_id = _id(service, policy)
        show(call, service.change(operations.REPLACE_POLICY, policy_id, body=document, if_match=if_match or etag))


@policies.command("simulate")
@calls
def simulate_policy(
    call: Call,
    policy: Policy,
    *,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Only this group, by name, mail address or id; repeatable."),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE", help="Only this site, by name, address or id; repeatable."),
    ] = None,
) -> None:
    """Simulate a policy on some groups and sites, or on all.

    Nothing is changed.
    """
    chosen = (("groupIds", GROUP, group, "--group"), ("siteIds", SITE, site, "--site"))
    with call.service(Area.ADMIN) as service:
        body = {
            name: [managed.id_of(service, each, option=option) for each in named]
            for name, managed, named, option in chosen
            if named
        }
        policy_id = id_of(service, policy, POLICIES)
        # The members of an answer may be anything.
        simulated: Any = service.post(operations.SIMULATE_POLICY, policy_id, body=body)
    show_report(call, simulated, (_COLUMNS, simulated["items"], "occurrences"))
    if not call.output.is_document:
        more = "" if simulated["isWhole"] else f" The first {len(simulated['items'])} are shown."
        say(f"Until {simulated['to']}: {_counted(simulated)}.{more}")


@policies.command("delete")
@calls
def delete_policy(call: Call, policy: Policy, *, if_match: IfMatch = None, yes: Yes = False) -> None:
    """Delete a policy, after confirmation."""
    with call.service(Area.ADMIN) as service:
        found_policy = service.read(operations.READ_POLICY, _id(service, policy))
        agreed(f"This removes the policy {found_policy['name']} ({found_policy['id']}). Do it?", yes=yes)
        service.change(operations.DELETE_POLICY, str(found_policy["id"]), if_match=if_match)
    say(f"{found_policy['name']} ({found_policy['id']}) is removed.")
