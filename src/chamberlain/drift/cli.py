# SPDX-License-Identifier: Apache-2.0
"""Commands of drift checks."""

from typing import Annotated

import typer

from chamberlain.cli.calls import Area, Call, show
from chamberlain.cli.help import CommandTable
from chamberlain.cli.options import Key, calls
from chamberlain_client import operations

drift = CommandTable()


@drift.callback()
def _group() -> None:
    """Keep this a group of commands although it has only one."""


@drift.command("check")
@calls
def check_drift(
    call: Call,
    *,
    comment: Annotated[str | None, typer.Option(help="Comment for the audit trail.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Start a drift check. `finding list` shows the differences. For administrators."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.ADMIN) as service:
        show(call, service.post(operations.CHECK_DRIFT, body=body, key=idempotency_key))
