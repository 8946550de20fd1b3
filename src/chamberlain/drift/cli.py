"""Drift: what was changed in the directory behind the service's back is looked for."""

from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.listing import show
from chamberlain.cli.options import Key, calls
from chamberlain_client import operations

drift = typer.Typer()


@drift.callback()
def _group() -> None:
    """A group of commands, also as long as there is one alone."""


@drift.command("check")
@calls
def check_drift(
    call: Call,
    *,
    comment: Annotated[str | None, typer.Option(help="A sentence for the audit trail.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Compare what was asked for with the directory now; `finding list` shows what differs. For administrators."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.CHECK_DRIFT, body=body, key=idempotency_key))


def check(call: Call, comment: str | None, key: str | None) -> None:
    """Ask for one, and show when those before it began and ended."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.CHECK_DRIFT, body=body, key=key))
