"""Templates: listed, shown, written."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options import Document, IfMatch, Key, Yes

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
    from chamberlain.template_admin.cli_template_files import list_templates

    list_templates(call, kind, administer=administer)


@templates.command("show")
@calls
def show_template(call: "Call", template: Template) -> None:
    """Show a template with all that it says. For administrators."""
    from chamberlain.template_admin.cli_template_files import show_template

    show_template(call, template)


@templates.command("create")
@calls
def create_template(call: "Call", *, body: Document, idempotency_key: Key = None) -> None:
    """Make a template of a file; its `kind` says of what. For administrators."""
    from chamberlain.template_admin.cli_template_files import create_template

    create_template(call, body, idempotency_key)


@templates.command("replace")
@calls
def replace_template(call: "Call", template: Template, *, body: Document, if_match: IfMatch = None) -> None:
    """Put the content of a file in the place of what a template says. For administrators."""
    from chamberlain.template_admin.cli_template_files import replace_template

    replace_template(call, template, body, if_match)


@templates.command("delete")
@calls
def delete_template(call: "Call", template: Template, *, if_match: IfMatch = None, yes: Yes = False) -> None:
    """Remove a template. Asks first. For administrators."""
    from chamberlain.template_admin.cli_template_files import delete_template

    delete_template(call, template, if_match, yes=yes)
