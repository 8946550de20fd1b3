"""Asking for something that is made later: sent, rehearsed, waited for, shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import typer

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.calls_service import Service
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.listing import show
from chamberlain.cli.output import Record, say
from chamberlain.requests.cli_waiting import hint_at, wait_for
from chamberlain_client.operations import Operation


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is asked for. `timeout` is how many seconds it is waited, when it is."""

    dry_run: bool
    key: str | None
    wait: bool
    timeout: float


def submit(
    call: Call,
    area: Area,
    operation: Operation,
    make_body: Callable[[Service], Mapping[str, object]],
    *,
    manner: Manner,
    finished: Callable[[Service, Record, Record], Record],
) -> None:
    """Send the body, and show the answer; with waiting, what `finished` makes of the answer and the ended request."""
    with call.service(area) as service:
        body = make_body(service)
        answer = service.post(operation, body=body, key=manner.key, dry_run=manner.dry_run)
        if manner.dry_run:
            _show_rehearsal(call, answer)
        elif manner.wait:
            request = wait_for(call, str(answer["requestId"]), manner.timeout)
            show(call, finished(service, answer, request))
        else:
            show(call, answer)
            if answer["approvalRequired"]:
                say("It has to be approved before anything is made.")
            hint_at(answer["requestId"])


def _show_rehearsal(call: Call, rehearsal: Record) -> None:
    show(call, rehearsal)
    if rehearsal.get("conflicts"):
        say("It would be refused: see conflicts.")
        raise typer.Exit(ExitCode.FAILED)
    say("Nothing was done.")
