"""Events of a timeline, as what has happened. Pure: they come in as they were read."""

from chamberlain_client.answers import decoded_bytes
from chamberlain_client.models.requests import (
    Approval,
    ApprovalChanged,
    Happening,
    RequestStep,
    RequestSummary,
    StateChanged,
    StepChanged,
)


def happening_of(kind: str, number: str, data: str) -> Happening | None:
    """What has happened; None for a kind that this version does not know. Raises AnswerNotUnderstood."""
    match kind:
        case "state":
            return StateChanged(number, decoded_bytes(data.encode(), RequestSummary))
        case "step":
            return StepChanged(number, decoded_bytes(data.encode(), RequestStep))
        case "approval":
            return ApprovalChanged(number, decoded_bytes(data.encode(), Approval))
        case _:
            return None


def ends(happening: Happening) -> bool:
    """Whether nothing comes behind it."""
    return isinstance(happening, StateChanged) and happening.request.has_ended
