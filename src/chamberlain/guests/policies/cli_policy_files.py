"""Guest policies over HTTP."""

from chamberlain.cli.bodies import read_document
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.calls_service import Service
from chamberlain.cli.listing import show, show_list
from chamberlain.cli.names import id_of_name
from chamberlain.cli.output import Column, say
from chamberlain.cli.prompts import agreed
from chamberlain_client import operations


def list_policies(call: Call) -> None:
    """Show all of them."""
    columns = (
        Column("ID", "id"),
        Column("NAME", "name"),
        Column("ACTIVE", "active"),
        Column("DESCRIPTION", "description"),
    )
    show_list(call, Area.ADMIN, operations.LIST_POLICIES, filters={}, columns=columns, most=None)


def show_policy(call: Call, written: str) -> None:
    """Show one."""
    with call.service(Area.ADMIN) as service:
        show(call, service.read(operations.READ_POLICY, _id(service, written)))


def create_policy(call: Call, file: str, key: str | None) -> None:
    """Make one of a file."""
    body, _ = read_document(file)
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.CREATE_POLICY, body=body, key=key))


def replace_policy(call: Call, written: str, file: str, if_match: str | None) -> None:
    """Put what a file says in the place of what one says."""
    body, etag = read_document(file)
    with call.service(Area.ADMIN) as service:
        policy_id = _id(service, written)
        show(call, service.change(operations.REPLACE_POLICY, policy_id, body=body, if_match=if_match or etag))


def delete_policy(call: Call, written: str, if_match: str | None, *, yes: bool) -> None:
    """Remove one, when somebody agrees."""
    with call.service(Area.ADMIN) as service:
        policy = service.read(operations.READ_POLICY, _id(service, written))
        agreed(f"This removes the policy {policy['name']} ({policy['id']}). Do it?", yes=yes)
        service.change(operations.DELETE_POLICY, str(policy["id"]), if_match=if_match)
    say(f"{policy['name']} ({policy['id']}) is removed.")


def _id(service: Service, written: str) -> str:
    return id_of_name(service, written, (operations.LIST_POLICIES,), "policy")
