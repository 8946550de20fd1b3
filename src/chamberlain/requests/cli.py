# SPDX-License-Identifier: Apache-2.0
"""Commands of requests and approvals."""

import asyncio
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Final, Protocol, Self

import msgspec
import typer

from chamberlain.cli.calls import Area, Call, Service, show, show_list
from chamberlain.cli.errors import ExitCode, Misused, ended
from chamberlain.cli.help import CommandTable
from chamberlain.cli.names import REQUESTS, Listed, id_of, request_id_of, user_ids
from chamberlain.cli.options import All, Comment, Key, Limit, calls, most
from chamberlain.cli.output import Column, Record, on_behalf, say, value_at, written_time
from chamberlain.cli.sign_ins import SignInEnded
from chamberlain.core.text import one_line
from chamberlain_client import operations
from chamberlain_client.errors import ChamberlainError, Unauthenticated, Unavailable, Unreachable
from chamberlain_client.events import ApprovalChanged, Happening, StateChanged, StepChanged
from chamberlain_client.models import Approval, RequestKind, RequestState, RequestStep
from chamberlain_client.operations import Operation

if TYPE_CHECKING:
    from rich.text import Text


class Progress(Protocol):
    """Show progress while a block runs."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...
    def show(self, happening: Happening) -> None:
        """Show an event."""


def progress() -> Progress:
    """Return the progress display for standard error."""
    return _OnTerminal() if sys.stderr.isatty() else _InLines()


def told(happening: Happening) -> str:
    """Format an event as one line."""
    match happening:
        case StateChanged(request=request):
            reason = f": {request.waiting.reason}" if request.waiting else ""
            blocked = ", without an approver" if request.blocked else ""
            return one_line(f"{request.display_name}: {request.state}{blocked}{reason}")
        case StepChanged(step=step):
            return one_line(_of_step(step))
        case ApprovalChanged(approval=approval):
            names = ", ".join(approver.display_name for approver in approval.approvers) or "nobody"
            return one_line(f"  approval {approval.level}: {approval.state} ({names}){_by_substitutes(approval)}")


def _by_substitutes(approval: Approval) -> str:
    names = [
        on_behalf(decision.by.display_name, decision.on_behalf_of.display_name)
        for decision in approval.decisions
        if decision.on_behalf_of is not None
    ]
    return f", decided by {', '.join(names)}" if names else ""


def _of_step(step: RequestStep) -> str:
    why = step.error or step.reason
    return f"  {step.title}: {step.state}" + (f": {why}" if why else "")


class _InLines:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Do nothing."""

    def show(self, happening: Happening) -> None:
        say(told(happening))


class _OnTerminal:
    """Draw the state, the steps and the levels of approval."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._state = ""
        self._parts: dict[str, str] = {}
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, refresh_per_second=10, get_renderable=self._picture)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def show(self, happening: Happening) -> None:
        match happening:
            case StateChanged():
                self._state = told(happening)
            case StepChanged(step=step):
                self._parts[step.name] = told(happening)
            case ApprovalChanged(approval=approval):
                self._parts[f"approval {approval.level}"] = told(happening)
        self._live.refresh()

    def _picture(self) -> "Text":
        from rich.text import Text

        return Text("\n".join((self._state, *self._parts.values())))


_ID = (Column("REQUEST", "requestId"),)


def wait_for(call: Call, request_id: str, within: float | None) -> Record:
    """Wait until a request succeeds, and return it.

    Any other end, or a timeout, ends the command. JSON output always has the id.
    """
    try:
        watch(call, request_id, within)
        request = read_request(call, request_id)
    except (typer.Exit, ChamberlainError, SignInEnded):
        _show_id(call, request_id)
        raise
    if call.output.is_document and request["state"] != "succeeded":
        show(call, request)
    must_have_succeeded(request)
    return request


def _show_id(call: Call, request_id: str) -> None:
    """Print the id of a request that has not finished, as JSON."""
    if call.output.is_json and (not call.output.fields or "requestId" in call.output.fields):
        # The expression is written for the result, and can fail with less.
        with suppress(Misused):
            call.output.show_next({"requestId": request_id}, _ID)


def read_request(call: Call, request_id: str) -> Record:
    """Read a request."""
    with call.service(Area.REQUESTS) as service:
        return service.read(operations.READ_REQUEST, request_id)


def must_have_succeeded(request: Record) -> None:
    """End the command unless the request has succeeded, and print the reason."""
    if request["state"] != "succeeded":
        raise ended(ExitCode.FAILED, *_why(request))


def watch(
    call: Call, request_id: str, within: float | None, *, also: Callable[[Happening], None] | None = None
) -> None:
    """Show the events of a request until it ends, or a timeout.

    `within` is in seconds.
    """
    hint = f"chamberlain request watch {request_id}"
    try:
        asyncio.run(_watch(call, request_id, within, also))
    except TimeoutError as error:
        sentence = f"Request {request_id} has not finished within {within:g} s. It continues. Follow it: {hint}"
        raise ended(ExitCode.NOT_FINISHED, sentence) from error
    except KeyboardInterrupt as error:
        sentence = f"Stopped waiting. Request {request_id} continues. Follow it: {hint}"
        raise ended(ExitCode.INTERRUPTED, sentence) from error
    except (Unreachable, Unavailable, Unauthenticated, SignInEnded):
        say(f"Stopped following request {request_id}. Follow it: {hint}")
        raise


async def _watch(call: Call, request_id: str, within: float | None, also: Callable[[Happening], None] | None) -> None:
    async with asyncio.timeout(within), call.requests() as requests:
        with progress() as shown:
            async for happening in requests.watch(request_id):
                shown.show(happening)
                if isinstance(happening, StateChanged) and happening.request.state == "pendingApproval":
                    # Open decisions have no event of their own.
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
        lines.append(f"After you have fixed the cause: chamberlain request retry {request_id}")
    return told, *lines


def hint_at(request_id: object) -> None:
    """Print the command that follows a request."""
    say(f"To follow it: chamberlain request watch {request_id}")


def _show_event(call: Call, happening: Happening) -> None:
    """Print an event as JSON."""
    call.output.show_next({"id": happening.number, **_event(happening)}, ())


def _event(happening: Happening) -> Record:
    match happening:
        case StateChanged(request=request):
            return {"event": "state", "data": msgspec.to_builtins(request)}
        case StepChanged(step=step):
            return {"event": "step", "data": msgspec.to_builtins(step)}
        case ApprovalChanged(approval=approval):
            return {"event": "approval", "data": msgspec.to_builtins(approval)}


# Bytes of a mail that the service reads. Attachments come later.
LONGEST_MAIL: Final = 262_144

requests = CommandTable()

Request = Annotated[str, typer.Argument(metavar="REQUEST", help="Request, by id, end of the id, or name.")]


_COLUMNS: Final = (
    Column("ID", "requestId"),
    Column("KIND", "kind"),
    Column("STATE", "state"),
    Column("NAME", "displayName"),
    Column("ASKED BY", "createdBy.displayName"),
    Column("AGE", "createdAt"),
)


@requests.command("list")
@calls
def list_requests(
    call: Call,
    *,
    state: Annotated[
        RequestState | None,
        typer.Option(metavar="STATE", case_sensitive=False, help="State, such as waiting, failed or pendingApproval."),
    ] = None,
    kind: Annotated[
        RequestKind | None,
        typer.Option(metavar="KIND", case_sensitive=False, help="Kind, such as room, team or assignment."),
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own, for administrators too.")] = False,
    to_decide: Annotated[bool, typer.Option("--to-decide", help="Only those that wait for your decision.")] = False,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="Prefix of the name or of the mail address.")
    ] = None,
    from_: Annotated[
        datetime | None, typer.Option("--from", metavar="TIME", help="Only those accepted since this UTC time.")
    ] = None,
    to: Annotated[
        datetime | None, typer.Option(metavar="TIME", help="Only those accepted before this UTC time.")
    ] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List your requests, newest first. Administrators see all."""
    filters = {
        "state": state,
        "kind": kind,
        "mine": mine or None,
        "toDecide": to_decide or None,
        "q": query,
        "from": from_ and written_time(from_),
        "to": to and written_time(to),
    }
    at_most = most(limit, everything=everything)
    show_list(
        call, Area.REQUESTS, operations.LIST_REQUESTS, filters=filters, columns=_COLUMNS, most=at_most, noun="requests"
    )


@requests.command("show")
@calls
def show_request(call: Call, request: Request) -> None:
    """Show a request with its steps, approvals, wait and error."""
    _show(call, read_request(call, request_id_of(call, request)))


@requests.command("watch")
@calls
def watch_request(
    call: Call,
    request: Request,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Stop after this time. Default: follow to the end.")
    ] = None,
) -> None:
    """Follow a request until it finishes. Exits 0 if it succeeded."""
    request = request_id_of(call, request)
    watch(call, request, timeout, also=partial(_show_event, call) if call.output.is_json else None)
    found_request = read_request(call, request)
    if not call.output.is_json:
        _show(call, found_request)
    must_have_succeeded(found_request)


@requests.command("approve")
@calls
def approve_request(call: Call, request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Approve a request that waits for your decision."""
    act(call, operations.APPROVE_REQUEST, request, comment, key=idempotency_key)


@requests.command("reject")
@calls
def reject_request(call: Call, request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Reject a request that waits for your decision."""
    act(call, operations.REJECT_REQUEST, request, comment, key=idempotency_key)


@requests.command("assign")
@calls
def assign_approvers(
    call: Call,
    request: Request,
    *,
    approver: Annotated[list[str], typer.Option(metavar="USER", help="User, by id or mail address; repeatable.")],
    level: Annotated[int, typer.Option(min=1, help="Level of approval.")] = 1,
    idempotency_key: Key = None,
) -> None:
    """Assign approvers to a blocked request. For administrators."""
    with call.service(Area.ADMIN) as service:
        body = {"level": level, "userIds": user_ids(service, approver, option="--approver")}
        show(
            call,
            service.post(operations.NAME_APPROVERS, id_of(service, request, REQUESTS), body=body, key=idempotency_key),
        )


@requests.command("cancel")
@calls
def cancel_request(call: Call, request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Cancel an unfinished request, as its requester or as an administrator."""
    act(call, operations.CANCEL_REQUEST, request, comment, key=idempotency_key)


@requests.command("retry")
@calls
def retry_request(call: Call, request: Request, comment: Comment = None, idempotency_key: Key = None) -> None:
    """Retry a failed request, as its requester or as an administrator."""
    act(call, operations.RETRY_REQUEST, request, comment, key=idempotency_key)


approvals = CommandTable()


@approvals.callback()
def approval_group() -> None:
    """Decide by replies to approval mails."""


@approvals.command("reply")
@calls
def reply_to_approval(
    call: Call,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Raw mail. Default: standard input.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Decide by a reply to an approval mail.

    For applications: the mail server of the operator runs it for each reply.
    """
    body = {"mail": b64encode(_read_mail(file)).decode("ascii")}
    with call.service(Area.REQUESTS) as service:
        show(call, service.post(operations.REPLY_TO_APPROVAL, body=body, key=idempotency_key))


def _read_mail(file: Path | None) -> bytes:
    if file is None:
        return sys.stdin.buffer.read(LONGEST_MAIL)
    try:
        with file.open("rb") as stream:
            return stream.read(LONGEST_MAIL)
    except OSError as error:
        raise Misused(f"{file} cannot be read ({error.strerror}).") from error


@dataclass(frozen=True, slots=True)
class Manner:
    """Options of a submission. `timeout` is in seconds."""

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
    summary: Sequence[str],
) -> None:
    """Send the body, and show the response, or wait for the result.

    `finished` reads the result. `summary` names its members for people, such as the address.
    """
    with call.service(area) as service:
        body = make_body(service)
        answer = service.post(operation, body=body, key=manner.key, dry_run=manner.dry_run)
        if manner.dry_run:
            _show_dry_run(call, answer)
        elif manner.wait:
            request = wait_for(call, str(answer["requestId"]), manner.timeout)
            show(call, finished(service, answer, request), summary)
        else:
            show(call, answer, summary)
            if answer["approvalRequired"]:
                say("The request needs approval. Nothing is created before.")
            hint_at(answer["requestId"])


def _show_dry_run(call: Call, dry_run: Record) -> None:
    show(call, dry_run)
    if dry_run.get("conflicts"):
        say("It would be refused: see conflicts.")
        raise typer.Exit(ExitCode.FAILED)
    say("Nothing was done.")


def act(
    call: Call, operation: Operation, written: str, comment: str | None, *, key: str | None, listed: Listed = REQUESTS
) -> None:
    """Run an action, and show the resource afterwards."""
    body = {} if comment is None else {"comment": comment}
    with call.service(Area.REQUESTS) as service:
        _show(call, service.post(operation, id_of(service, written, listed), body=body, key=key))


def _show(call: Call, request: Record) -> None:
    """Show a request. A table names substitutes with their approvers."""
    approvals = request.get("approvals")
    if call.output.is_table and isinstance(approvals, list):
        request = {**request, "approvals": list(map(_with_approvers, approvals))}
    show(call, request)


def _with_approvers(approval: Record) -> Record:
    approvers = {each["id"]: each["displayName"] for each in _records(approval, "approvers")}
    decisions = [
        {**each, "by": {**by, "displayName": on_behalf(by.get("displayName"), approver)}}
        if isinstance(by := each.get("by"), Mapping)
        and (approver := value_at(each, "onBehalfOf.displayName")) is not None
        else each
        for each in _records(approval, "decisions")
    ]
    substitutes = [
        {**each, "displayName": on_behalf(each.get("displayName"), approvers.get(each.get("approverId")))}
        for each in _records(approval, "substitutes")
    ]
    changed = {**approval, "decisions": decisions}
    return {**changed, "substitutes": substitutes} if substitutes else changed


def _records(record: Record, name: str) -> list[Record]:
    found = record.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
