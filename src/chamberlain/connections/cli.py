# SPDX-License-Identifier: Apache-2.0
"""Commands of connections: add, list, check, change and remove."""

import sys
from typing import Annotated

import typer

from chamberlain.cli.arguments import one_of
from chamberlain.cli.calls import Area, Call, Service, show, show_list
from chamberlain.cli.errors import ExitCode, Misused
from chamberlain.cli.help import CommandTable
from chamberlain.cli.options import Yes, agreed, calls
from chamberlain.cli.output import Column, Record, say
from chamberlain_client import operations
from chamberlain_client.models import AdapterName

connections = CommandTable()

Address = Annotated[
    str | None,
    typer.Option(help="Address of the directory, without a password. Without one, it is the service's own database."),
]
NewAddress = Annotated[str | None, typer.Option("--address", help="New address of the directory, without a password.")]
FromInput = Annotated[
    bool, typer.Option("--credential-stdin", help="Read the credential from standard input. It is stored encrypted.")
]
FileName = Annotated[
    str | None, typer.Option("--credential-file", metavar="NAME", help="File in the folder that the operator provides.")
]
Force = Annotated[bool, typer.Option("--force", help="Also if the tenant has managed objects, which are lost then.")]

_COLUMNS = (
    Column("ID", "id"),
    Column("ADAPTER", "adapter"),
    Column("STATE", "state"),
    Column("ADDRESS", "address"),
    Column("CHECKED", "checkedAt"),
    Column("REASON", "stateReason.detail"),
)


@connections.command("add")
@calls
def add_connection(
    call: Call,
    *,
    adapter: Annotated[str, typer.Option(help="Adapter: embedded, opensuite or microsoft365.")] = "embedded",
    address: Address = None,
    credential_stdin: FromInput = False,
    credential_file: FileName = None,
    force: Force = False,
) -> None:
    """Add the connection of the tenant, and check it."""
    body: dict[str, object] = {
        "adapter": one_of(adapter, AdapterName, "--adapter"),
        **_credential(from_input=credential_stdin, file=credential_file),
    }
    if (address is not None) == body.keys().isdisjoint(("credential", "credentialFile")):
        raise Misused("--address needs --credential-stdin or --credential-file, and these need --address.")
    if address is not None:
        body["address"] = address
    with call.service(Area.ADMIN) as service:
        found = service.post(operations.CREATE_CONNECTION, body=body, force=force)
        _check(call, service, found)


@connections.command("list")
@calls
def list_connections(call: Call) -> None:
    """List the connection of the tenant with its state."""
    show_list(
        call, Area.ADMIN, operations.LIST_CONNECTIONS, filters={}, columns=_COLUMNS, most=None, noun="connections"
    )


@connections.command("check")
@calls
def check_connection(call: Call) -> None:
    """Check the connection now. Exits 1 if it is broken."""
    with call.service(Area.ADMIN) as service:
        _check(call, service, _only(service))


@connections.command("change")
@calls
def change_connection(
    call: Call,
    *,
    address: NewAddress = None,
    credential_stdin: FromInput = False,
    credential_file: FileName = None,
    force: Force = False,
) -> None:
    """Change the address or the credential, and check the connection."""
    body: dict[str, object] = _credential(from_input=credential_stdin, file=credential_file)
    if address is not None:
        body["address"] = address
    if not body:
        raise Misused("Name the change: --address, --credential-stdin or --credential-file.")
    with call.service(Area.ADMIN) as service:
        found = service.change(operations.CHANGE_CONNECTION, str(_only(service)["id"]), body=body, force=force)
        _check(call, service, found)


@connections.command("remove")
@calls
def remove_connection(call: Call, *, force: Force = False, yes: Yes = False) -> None:
    """Remove the connection. The tenant then uses the service's own directory."""
    with call.service(Area.ADMIN) as service:
        found = _only(service)
        agreed("Remove the connection? The tenant then uses the directory of the service.", yes=yes)
        service.change(operations.DELETE_CONNECTION, str(found["id"]), force=force)
    say("The connection is removed.")


def _check(call: Call, service: Service, found: Record) -> None:
    checked = service.post(operations.CHECK_CONNECTION, str(found["id"]), body={})
    show(call, checked)
    if checked["state"] != "ready":
        raise typer.Exit(ExitCode.FAILED)


def _only(service: Service) -> Record:
    found = next(service.items(operations.LIST_CONNECTIONS, {}, 1), None)
    if found is None:
        raise Misused("The tenant has no connection. Add one: chamberlain connection add.")
    return found


def _credential(*, from_input: bool, file: str | None) -> dict[str, object]:
    if from_input and file is not None:
        raise Misused("--credential-stdin and --credential-file exclude each other.")
    if from_input:
        if not (credential := sys.stdin.readline().rstrip("\r\n")):
            raise Misused("Standard input has no credential. Send it, for example: --credential-stdin < password")
        return {"credential": credential}
    return {} if file is None else {"credentialFile": file}
