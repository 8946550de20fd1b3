"""Looking on at a request, for people and for programs."""

import msgspec

from chamberlain.cli.output import show_json
from chamberlain_client.models.requests import ApprovalChanged, Happening, StateChanged, StepChanged


def _show_event(happening: Happening) -> None:
    match happening:
        case StateChanged(number=number, request=request):
            show_json({"id": number, "event": "state", "data": msgspec.to_builtins(request)})
        case StepChanged(number=number, step=step):
            show_json({"id": number, "event": "step", "data": msgspec.to_builtins(step)})
        case ApprovalChanged(number=number, approval=approval):
            show_json({"id": number, "event": "approval", "data": msgspec.to_builtins(approval)})
