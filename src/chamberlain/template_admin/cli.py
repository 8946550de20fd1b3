"""Templates: listed, shown, written."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.bodies import read_document
from chamberlain.cli.calls import calls
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show, show_records
from chamberlain.cli.options import Document, IfMatch, Key, Yes
from chamberlain.cli.output import Column, say
from chamberlain.cli.prompts import agreed
from chamberlain.template_admin.cli_template_files import _MAILBOX_KINDS, COLLAB, MAIL, _listed, find_template

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

templates = typer.Typer(name="template", help="Look at templates, and write them.", no_args_is_help=True)

Template = Annotated[str, typer.Argument(metavar="TEMPLATE", help="By name or id.")]


@templates.command("list")
@calls
def list_templates(
    call: "Call",
    *,
    kind: Annotated[str | None, typer.Option(help="shared, equipment, room, group, team or guest.")] = None,
    administer: Annotated[
        bool, typer.Option("--admin", help="Those of guests and those that are not active too. For administrators.")
    ] = False,
) -> None:
    """List the templates of mailboxes, groups and teams that one may use."""
    columns = [Column("ID", "id"), Column("KIND", "kind"), Column("NAME", "name")]
    columns.append(Column("ACTIVE", "active") if administer else Column("APPROVAL", "approvalRequired"))
    columns.append(Column("DESCRIPTION", "description"))
    found = (each for shelf in (MAIL, COLLAB) for each in _listed(call, shelf, administer=administer))
    show_records(call, (each for each in found if kind is None or each["kind"] == kind), columns)


@templates.command("show")
@calls
def show_template(call: "Call", template: Template) -> None:
    """Show a template with all that it says. For administrators."""
    with call.service(Area.ADMIN) as service:
        _, found_template = find_template(service, template)
        show(call, found_template)


@templates.command("create")
@calls
def create_template(call: "Call", *, body: Document, idempotency_key: Key = None) -> None:
    """Make a template of a file; its `kind` says of what. For administrators."""
    document, _ = read_document(body)
    shelf = MAIL if document.get("kind") in _MAILBOX_KINDS else COLLAB
    with call.service(Area.ADMIN) as service:
        show(call, service.post(shelf.create, body=document, key=idempotency_key))


@templates.command("replace")
@calls
def replace_template(call: "Call", template: Template, *, body: Document, if_match: IfMatch = None) -> None:
    """Put the content of a file in the place of what a template says. For administrators."""
    document, etag = read_document(body)
    with call.service(Area.ADMIN) as service:
        shelf, found_template = find_template(service, template)
        show(call, service.change(shelf.replace, str(found_template["id"]), body=document, if_match=if_match or etag))


@templates.command("delete")
@calls
def delete_template(call: "Call", template: Template, *, if_match: IfMatch = None, yes: Yes = False) -> None:
    """Remove a template. Asks first. For administrators."""
    with call.service(Area.ADMIN) as service:
        shelf, found_template = find_template(service, template)
        agreed(f"This removes the template {found_template['name']} ({found_template['id']}). Do it?", yes=yes)
        service.change(shelf.delete, str(found_template["id"]), if_match=if_match)
    say(f"{found_template['name']} ({found_template['id']}) is removed.")
