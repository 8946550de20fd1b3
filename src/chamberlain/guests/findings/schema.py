"""The body of a call that lets a finding stand."""

from datetime import datetime
from typing import Annotated

from chamberlain.core.constraints import Shape
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.time import Moment, read_moment
from chamberlain.core.validation import Reader, name
from chamberlain.guests.findings.rules import WantedAcceptance


class AcceptanceBody(Shape, frozen=True, kw_only=True):
    """Why it may stand, and until when; without `until` for good."""

    reason: Annotated[str, name(1024)]
    until: Moment | None = None


ACCEPTANCE = Reader(AcceptanceBody)


def to_wanted_acceptance(body: AcceptanceBody) -> WantedAcceptance:
    """The rules' value of it. Raises BodyInvalid for a day that there is not."""
    until = None if body.until is None else read_moment(body.until, "until")
    if isinstance(until, Fault):
        raise BodyInvalid((until,))
    return WantedAcceptance(body.reason, until)


def require_ahead(wanted: WantedAcceptance, *, now: datetime) -> None:
    """Raises BodyInvalid for an acceptance that has ended before it begins."""
    if wanted.until is not None and wanted.until <= now:
        raise BodyInvalid((Fault("/until", "outOfBounds", "until must be later than now."),))
