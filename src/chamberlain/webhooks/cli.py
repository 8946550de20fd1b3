"""Webhooks of templates: tried, and given a new secret."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.listing import show
from chamberlain.cli.options import Key
from chamberlain.cli.output import say
from chamberlain.template_admin.cli_template_files import find_template

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

webhooks = typer.Typer(
    name="webhook", help="Try webhooks, and renew their secrets. For administrators.", no_args_is_help=True
)

Template = Annotated[str, typer.Argument(metavar="TEMPLATE", help="The template that it belongs to, by name or id.")]


@webhooks.command("test")
@calls
def try_webhook(call: "Call", template: Template, *, idempotency_key: Key = None) -> None:
    """Call it once with an event of no meaning, and show what it answers; 1 when that is no success."""
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        attempt = service.post(shelf.test_webhook, str(found["id"]), body={}, key=idempotency_key)
    show(call, attempt)
    status = attempt.get("status")
    if not isinstance(status, int) or not 200 <= status < 300:
        say("The webhook did not take it.")
        raise typer.Exit(ExitCode.FAILED)


@webhooks.command("rotate")
@calls
def rotate_webhook(call: "Call", template: Template, *, idempotency_key: Key = None) -> None:
    """Make a new secret, and show it: this once. The old one is good for another 24 hours."""
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        show(call, service.post(shelf.rotate_webhook, str(found["id"]), body={}, key=idempotency_key))
    say("The secret is shown this once. The one before it is good for another 24 hours.")
