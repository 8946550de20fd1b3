"""Events of a timeline, as what has happened. Pure: they come in as they were read."""

import re

from chamberlain_client.answers import decoded_bytes
from chamberlain_client.errors import AnswerNotUnderstood
from chamberlain_client.models.requests import (
    Approval,
    ApprovalChanged,
    Happening,
    RequestStep,
    RequestSummary,
    StateChanged,
    StepChanged,
)


def number_of(event_id: str) -> str:
    """The number of an event, empty where it has none. Raises AnswerNotUnderstood for one that could not be sent back:
    it goes into a header, to have the stream taken up there."""
    if not re.fullmatch(r"[!-~]{0,255}", event_id):
        raise AnswerNotUnderstood(200, "an event has a number that is none")
    return event_id


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
