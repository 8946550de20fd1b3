"""Deliveries: what webhooks were told, and telling it again."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.options import All, Key, Limit, most

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

deliveries = typer.Typer(
    name="delivery", help="What webhooks were told, and telling it again. For administrators.", no_args_is_help=True
)

Template = Annotated[str | None, typer.Option(help="Only for the webhook of this template, by name or id.")]
Time = Annotated[datetime | None, typer.Option(metavar="TIME", help="Such as 2026-11-20T09:30:00; the time is UTC.")]


@deliveries.command("list")
@calls
def list_deliveries(
    call: "Call",
    *,
    state: Annotated[str | None, typer.Option(help="pending, succeeded, failed or cancelled.")] = None,
    template: Template = None,
    request: Annotated[str | None, typer.Option(metavar="ID", help="Only those of a request.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List deliveries, the newest first."""
    from chamberlain.webhooks.cli_redelivering import list_deliveries

    list_deliveries(call, state, template, request, most(limit, everything=everything))


@deliveries.command("redeliver")
@calls
def redeliver(
    call: "Call",
    delivery: Annotated[str | None, typer.Argument(metavar="ID", help="The id of one delivery.")] = None,
    *,
    from_: Annotated[
        datetime | None, typer.Option("--from", metavar="TIME", help="Instead of the ID: all since then.")
    ] = None,
    to: Annotated[datetime | None, typer.Option(metavar="TIME", help="With --from: all before then.")] = None,
    template: Template = None,
    idempotency_key: Key = None,
) -> None:
    """Tell it again: one delivery, or all of a span of time."""
    from chamberlain.cli.errors_misuse import Misused
    from chamberlain.webhooks.cli_redelivering import redeliver_one, redeliver_span

    if delivery is not None and (from_, to, template) == (None, None, None):
        redeliver_one(call, delivery, idempotency_key)
    elif delivery is None and from_ is not None and to is not None:
        redeliver_span(call, from_, to, template, idempotency_key)
    else:
        raise Misused("Name either the ID of a delivery, or a span of time by --from and --to.")
