"""Webhooks of templates: tried, and given a new secret."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options import Key

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
    from chamberlain.webhooks.cli_webhook_calls import try_webhook

    try_webhook(call, template, idempotency_key)


@webhooks.command("rotate")
@calls
def rotate_webhook(call: "Call", template: Template, *, idempotency_key: Key = None) -> None:
    """Make a new secret, and show it: this once. The old one is good for another 24 hours."""
    from chamberlain.webhooks.cli_webhook_calls import rotate_webhook

    rotate_webhook(call, template, idempotency_key)
