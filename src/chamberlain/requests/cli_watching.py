"""Looking on at a request, for people and for programs."""

import msgspec

from chamberlain.cli.calls_call import Call
from chamberlain.cli.output import show_json, show_record
from chamberlain.requests.cli_waiting import must_have_succeeded, read_request, watch
from chamberlain_client.events import ApprovalChanged, Happening, StateChanged, StepChanged


def watch_request(call: Call, request_id: str, within: float | None) -> None:
    """Show what happens to a request until it has ended, and then the request; as JSON, a line for each event."""
    watch(call, request_id, within, also=_show_event if call.as_json else None)
    request = read_request(call, request_id)
    if not call.as_json:
        show_record(request)
    must_have_succeeded(request)


def _show_event(happening: Happening) -> None:
    match happening:
        case StateChanged(number=number, request=request):
            show_json({"id": number, "event": "state", "data": msgspec.to_builtins(request)})
        case StepChanged(number=number, step=step):
            show_json({"id": number, "event": "step", "data": msgspec.to_builtins(step)})
        case ApprovalChanged(number=number, approval=approval):
            show_json({"id": number, "event": "approval", "data": msgspec.to_builtins(approval)})
