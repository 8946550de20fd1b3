# SPDX-License-Identifier: Apache-2.0
"""Commands of webhooks and their deliveries."""

from datetime import datetime
from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call, Service, show, show_list
from chamberlain.cli.errors import ExitCode, Misused
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import DELIVERIES, REQUESTS, TEMPLATES, id_of
from chamberlain.cli.options import All, Key, Limit, calls, most
from chamberlain.cli.output import Column, say, written_time
from chamberlain.template_admin.cli import find_template
from chamberlain_client import operations
from chamberlain_client.models import DeliveryState

webhooks = CommandTable()

Template = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Template of the webhook, by name or id.")]


@webhooks.command("test")
@calls
def try_webhook(call: Call, template: Template, *, idempotency_key: Key = None) -> None:
    """Send a test event, and show the response. Exits 1 without success."""
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        attempt = service.post(shelf.test_webhook, str(found["id"]), body={}, key=idempotency_key)
    show(call, attempt)
    status = attempt.get("status")
    if not isinstance(status, int) or not 200 <= status < 300:
        say("The receiver did not accept the call.")
        raise typer.Exit(ExitCode.FAILED)


@webhooks.command("rotate")
@calls
def rotate_webhook(call: Call, template: Template, *, idempotency_key: Key = None) -> None:
    """Rotate the secret, and show it once.

    The old one is valid for another 24 hours.
    """
    with call.service(Area.ADMIN) as service:
        shelf, found = find_template(service, template)
        show(call, service.post(shelf.rotate_webhook, str(found["id"]), body={}, key=idempotency_key))
    say("The secret is shown this once. The one before it is good for another 24 hours.")


def _show_deliveries(
    call: Call, state: str | None, template: str | None, request: str | None, most: int | None
) -> None:
    """Show deliveries."""
    columns = (
        Column("ID", "id"),
        Column("STATE", "state"),
        Column("TYPE", "type"),
        Column("REQUEST", "requestId"),
        Column("ADDRESS", "url", wide=True),
        Column("AGE", "createdAt"),
    )
    with call.service(Area.ADMIN) as service:
        filters = {
            "state": state,
            "templateId": _template(service, template),
            "requestId": request and id_of(service, request, REQUESTS, option="--request"),
        }
    show_list(
        call, Area.ADMIN, operations.LIST_DELIVERIES, filters=filters, columns=columns, most=most, noun="deliveries"
    )


def _template(service: Service, written: str | None) -> str | None:
    return written and id_of(service, written, TEMPLATES, option="--template")


deliveries = CommandTable()

OfTemplate = Annotated[str | None, typer.Option(help="Only deliveries of this template, by name or id.")]
Time = Annotated[datetime | None, typer.Option(metavar="TIME", help="UTC time, such as 2026-11-20T09:30:00.")]


@deliveries.command("list")
@calls
def list_deliveries(
    call: Call,
    *,
    state: Annotated[
        DeliveryState | None,
        typer.Option(metavar="STATE", case_sensitive=False, help="State: pending, succeeded, failed or cancelled."),
    ] = None,
    template: OfTemplate = None,
    request: Annotated[str | None, typer.Option(metavar="REQUEST", help="Only deliveries of this request.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List deliveries, newest first."""

    _show_deliveries(call, state, template, request, most(limit, everything=everything))


@deliveries.command("redeliver")
@calls
def redeliver(
    call: Call,
    delivery: Annotated[
        str | None, typer.Argument(metavar="DELIVERY", help="Delivery, by id or the end of it.")
    ] = None,
    *,
    from_: Annotated[
        datetime | None,
        typer.Option("--from", metavar="TIME", help="In place of the DELIVERY: all deliveries since this time."),
    ] = None,
    to: Annotated[
        datetime | None, typer.Option(metavar="TIME", help="With --from: only deliveries before this time.")
    ] = None,
    template: OfTemplate = None,
    idempotency_key: Key = None,
) -> None:
    """Send one delivery again, or all of a period."""
    if delivery is not None and (from_, to, template) == (None, None, None):
        with call.service(Area.ADMIN) as service:
            show(
                call,
                service.post(
                    operations.REDELIVER_DELIVERY, id_of(service, delivery, DELIVERIES), body={}, key=idempotency_key
                ),
            )
    elif delivery is None and from_ is not None and to is not None:
        with call.service(Area.ADMIN) as service:
            chosen = {} if template is None else {"templateId": _template(service, template)}
            body = {"from": written_time(from_), "to": written_time(to), **chosen}
            show(call, service.post(operations.REDELIVER_SPAN, body=body, key=idempotency_key))
    else:
        raise Misused("Name either the DELIVERY, or a span of time by --from and --to.")
