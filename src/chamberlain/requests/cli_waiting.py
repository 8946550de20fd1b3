"""Waiting until a request has ended, with what happens to it meanwhile."""

import asyncio
from collections.abc import Callable

import typer

from chamberlain.cli.calls_call import Area, Call
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.cli.errors_refusals import ended
from chamberlain.cli.output import Record, say, show_json, value_at
from chamberlain.cli.sign_in import SignInEnded
from chamberlain.requests.cli_progress import progress
from chamberlain_client import operations
from chamberlain_client.errors import ChamberlainError, Unauthenticated, Unavailable, Unreachable
from chamberlain_client.events import ApprovalChanged, Happening, StateChanged


def wait_for(call: Call, request_id: str, within: float | None) -> Record:
    """The request, when it has succeeded. Any other end, and none in time, ends the command; as JSON its id at least is
    there, however the waiting ends."""
    try:
        watch(call, request_id, within)
        request = read_request(call, request_id)
    except (typer.Exit, ChamberlainError, SignInEnded):
        if call.as_json:
            show_json({"requestId": request_id})
        raise
    if call.as_json and request["state"] != "succeeded":
        show_json(request)
    must_have_succeeded(request)
    return request


def read_request(call: Call, request_id: str) -> Record:
    """The request as it is now."""
    with call.service(Area.REQUESTS) as service:
        return service.read(operations.READ_REQUEST, request_id)


def must_have_succeeded(request: Record) -> None:
    """End the command when the request has ended in another way, and say why."""
    if request["state"] != "succeeded":
        raise ended(ExitCode.FAILED, *_why(request))


def watch(
    call: Call, request_id: str, within: float | None, *, also: Callable[[Happening], None] | None = None
) -> None:
    """Show what happens to a request until it has ended. After so many seconds without an end the command ends."""
    hint = f"chamberlain request watch {request_id}"
    try:
        asyncio.run(_watch(call, request_id, within, also))
    except TimeoutError as error:
        sentence = f"Request {request_id} is not finished within {within:g} s, and goes on. Look again: {hint}"
        raise ended(ExitCode.NOT_FINISHED, sentence) from error
    except KeyboardInterrupt as error:
        sentence = f"Nobody waits any more, and request {request_id} goes on. Look again: {hint}"
        raise ended(ExitCode.INTERRUPTED, sentence) from error
    except (Unreachable, Unavailable, Unauthenticated, SignInEnded):
        say(f"Nobody looks on any more, whatever becomes of request {request_id}. Look again: {hint}")
        raise


async def _watch(call: Call, request_id: str, within: float | None, also: Callable[[Happening], None] | None) -> None:
    async with asyncio.timeout(within), call.requests() as requests:
        with progress() as shown:
            async for happening in requests.watch(request_id):
                shown.show(happening)
                if isinstance(happening, StateChanged) and happening.request.state == "pendingApproval":
                    # Who has to decide is no event before somebody has.
                    request = await requests.get(request_id)
                    for approval in request.approvals:
                        if approval.state in {"pending", "blocked"}:
                            shown.show(ApprovalChanged(happening.number, approval))
                if also is not None:
                    also(happening)


def _why(request: Record) -> tuple[str, ...]:
    request_id, state = request["requestId"], request["state"]
    detail = value_at(request, "error.detail")
    told = f"Request {request_id} is {state}" + (f": {detail}" if detail else ".")
    faults = value_at(request, "error.errors")
    lines = [f"  {fault['pointer'] or '/'}: {fault['detail']}" for fault in faults] if isinstance(faults, list) else []
    actions = request.get("actions")
    if isinstance(actions, list) and "retry" in actions:
        lines.append(f"When its cause is mended: chamberlain request retry {request_id}")
    return told, *lines


def hint_at(request_id: object) -> None:
    """Say how one can see what becomes of a request."""
    say(f"To see how it comes along: chamberlain request watch {request_id}")
