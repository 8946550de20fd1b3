"""Adoption: what was in the directory before is taken under management, and given back."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.adoptions.cli_adopting import Rule, show_preview
from chamberlain.cli.calls import calls
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show
from chamberlain.cli.options import All, Key, Limit, most
from chamberlain.cli.prompts import agreed
from chamberlain_client import operations

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

adoptions = typer.Typer(
    name="adoption",
    help="Take existing mailboxes and groups under management. For administrators.",
    no_args_is_help=True,
)

Kind = Annotated[str, typer.Option(help="shared, equipment, room, group or team.")]
Template = Annotated[str, typer.Option(help="The template to manage them by, by name or id.")]
Prefix = Annotated[str | None, typer.Option(metavar="TEXT", help="Only those whose name or address begins so.")]
Domain = Annotated[str | None, typer.Option(help="Only those whose address is at this domain.")]
Ids = Annotated[
    list[str] | None, typer.Option("--id", metavar="ID", help="Only this one, by its id in the directory; repeatable.")
]


@adoptions.command("preview")
@calls
def preview(
    call: "Call", *, kind: Kind, template: Template, prefix: Prefix = None, domain: Domain = None, id_: Ids = None
) -> None:
    """Show who would be taken, and what stands against the others. Nothing is changed."""

    show_preview(call, Rule(kind, template, prefix, domain, tuple(id_ or ())))


@adoptions.command("confirm")
@calls
def confirm(
    call: "Call",
    *,
    kind: Kind,
    template: Template,
    prefix: Prefix = None,
    domain: Domain = None,
    id_: Ids = None,
    digest: Annotated[
        str | None, typer.Option(help="The digest that the preview has shown; without it one is shown now, and asked.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    idempotency_key: Key = None,
) -> None:
    """Take those whom the preview shows."""
    from chamberlain.adoptions.cli_adopting import confirm

    rule = Rule(kind, template, prefix, domain, tuple(id_ or ()))
    confirm(call, rule, digest, idempotency_key, yes=yes)


@adoptions.command("undo")
@calls
def undo(
    call: "Call",
    adoption: Annotated[str, typer.Argument(metavar="ID", help="The id of the adoption, as `adoption list` shows it.")],
    *,
    comment: Annotated[str | None, typer.Option(help="What to say to it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    idempotency_key: Key = None,
) -> None:
    """Give all of an adoption back: marks and records go, everything else in the directory stays as it is."""
    agreed("Take marks and records of this adoption away again?", yes=yes)
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.UNDO_ADOPTION, adoption, body=body, key=idempotency_key))


@adoptions.command("show")
@calls
def show_adoption(
    call: "Call",
    adoption: Annotated[str, typer.Argument(metavar="ID", help="The id of the adoption, as `adoption list` shows it.")],
) -> None:
    """Show an adoption: how far it has come, and what could not be taken."""
    from chamberlain.cli.calls_call import Area
    from chamberlain.cli.listing import show_one
    from chamberlain_client.operations import READ_ADOPTION

    show_one(call, Area.ADMIN, READ_ADOPTION, adoption)


@adoptions.command("list")
@calls
def list_adoptions(call: "Call", *, limit: Limit = 50, everything: All = False) -> None:
    """List adoptions, the newest first."""
    from chamberlain.adoptions.cli_adopting import list_adoptions

    list_adoptions(call, most(limit, everything=everything))
