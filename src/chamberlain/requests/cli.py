"""Requests: listed, shown, watched, decided, cancelled, retried."""

from typing import TYPE_CHECKING, Annotated

import typer

from chamberlain.cli.calls import calls
from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.listing import show
from chamberlain.cli.options import All, Comment, Key, Limit, most
from chamberlain.cli.output import show_record
from chamberlain.requests.cli_waiting import must_have_succeeded, read_request, watch
from chamberlain.requests.cli_watching import _show_event

if TYPE_CHECKING:
    from chamberlain.cli.calls_call import Call

requests = typer.Typer(name="request", help="Follow what was asked for, and decide on it.", no_args_is_help=True)

Request = Annotated[str, typer.Argument(metavar="ID", help="The id of the request.")]


@requests.command("list")
@calls
def list_requests(
    call: "Call",
    *,
    state: Annotated[str | None, typer.Option(help="Such as waiting, failed or pendingApproval.")] = None,
    kind: Annotated[str | None, typer.Option(help="Such as room, team or assignment.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only one's own, for administrators too.")] = False,
    to_decide: Annotated[bool, typer.Option("--to-decide", help="Only those that one has to decide on.")] = False,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List requests, the newest first: one's own; for administrators all."""
    from chamberlain.cli.calls_call import Area
    from chamberlain.cli.listing import show_list
    from chamberlain.cli.output import Column
    from chamberlain_client.operations import LIST_REQUESTS

    columns = (
        Column("ID", "requestId"),
        Column("KIND", "kind"),
        Column("STATE", "state"),
        Column("NAME", "displayName"),
        Column("ASKED BY", "createdBy.displayName"),
        Column("AT", "createdAt"),
    )
    filters = {"state": state, "kind": kind, "mine": mine or None, "toDecide": to_decide or None}
    at_most = most(limit, everything=everything)
    show_list(call, Area.REQUESTS, LIST_REQUESTS, filters=filters, columns=columns, most=at_most)


@requests.command("show")
@calls
def show_request(call: "Call", request: Request) -> None:
    """Show a request: its state, its steps and approvals, why it waits or has failed."""
    from chamberlain.cli.calls_call import Area
    from chamberlain.cli.listing import show_one
    from chamberlain_client.operations import READ_REQUEST

    show_one(call, Area.REQUESTS, READ_REQUEST, request)


@requests.command("watch")
@calls
def watch_request(
    call: "Call",
    request: Request,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="How long to look on. Without it to the end.")
    ] = None,
) -> None:
    """Look on until a request has ended, and end as it does: with 0 when it has succeeded."""
    watch(call, request, timeout, also=_show_event if call.as_json else None)
    found_request = read_request(call, request)
    if not call.as_json:
        show_record(found_request)
    must_have_succeeded(found_request)


@requests.command("approve")
@calls
def approve_request(call: "Call", request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Say yes, as an approver whose turn it is."""
    from chamberlain_client.operations import APPROVE_REQUEST

    body = {} if comment is None else {"comment": comment}
    with call.service(Area.REQUESTS) as service:
        show(call, service.post(APPROVE_REQUEST, request, body=body, key=idempotency_key))


@requests.command("reject")
@calls
def reject_request(call: "Call", request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Say no, as an approver whose turn it is. That ends the request."""
    from chamberlain_client.operations import REJECT_REQUEST

    body = {} if comment is None else {"comment": comment}
    with call.service(Area.REQUESTS) as service:
        show(call, service.post(REJECT_REQUEST, request, body=body, key=idempotency_key))


@requests.command("cancel")
@calls
def cancel_request(call: "Call", request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """End a request that is not through."""
    from chamberlain_client.operations import CANCEL_REQUEST

    body = {} if comment is None else {"comment": comment}
    with call.service(Area.REQUESTS) as service:
        show(call, service.post(CANCEL_REQUEST, request, body=body, key=idempotency_key))


@requests.command("retry")
@calls
def retry_request(call: "Call", request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Let a request that has failed go on where it failed."""
    from chamberlain_client.operations import RETRY_REQUEST

    body = {} if comment is None else {"comment": comment}
    with call.service(Area.REQUESTS) as service:
        show(call, service.post(RETRY_REQUEST, request, body=body, key=idempotency_key))
