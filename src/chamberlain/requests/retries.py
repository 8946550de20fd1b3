# SPDX-License-Identifier: Apache-2.0
"""The retry schedule of steps: backoff and end time.

The adapter gives the shortest wait (`TryAgain.after`): the one that the directory asked for, or one that fits the step.
The backoff grows from there. Retries end after a time, not after a number of attempts. Time is counted by cause: a
directory that is busy or away for a night fails no request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.core.errors import Cause, OutsideFault, Rejected, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.core.waits import Waited, wait_longer
from chamberlain.directory.steps import Step

# Backoff: a first wait of 10 s grows to 15, 20, 30, 45, 60, 60 ... s. The directories' own tools use this schedule to
# look for an object that they have just written.
GROWTH = (1.0, 1.5, 2.0, 3.0, 4.5, 6.0)
# The backoff ends here. A directory that asks for a longer wait gets it.
LONGEST_GROWN_WAIT = timedelta(seconds=60)
# Keeps the worker from spinning if the adapter gives no wait. Our choice.
SHORTEST_WAIT = timedelta(milliseconds=100)

# A directory that asks to slow down, or does not answer, says nothing about the request. Our choice, for every step.
UNAVAILABLE_END = timedelta(hours=24)

# Ends of waits for an earlier write to be visible (`notYet`).
# The sources are those of the facts for Microsoft 365, 7.4: the slowest directory that there is an adapter for.
ENDS: Mapping[Step, timedelta] = {
    # Nothing is written yet, so retries can outlast an outage of the directory. Our choice.
    Step.CHECK_PEOPLE: timedelta(hours=24),
    Step.CREATE_GROUP: timedelta(hours=24),
    Step.CREATE_MAILBOX: timedelta(hours=24),
    # A write is visible everywhere after 20 minutes (azuread provider, issue 1556).
    Step.ADD_OWNERS: timedelta(minutes=20),
    Step.ADD_MEMBERS: timedelta(minutes=20),
    Step.SET_LABEL: timedelta(minutes=20),
    Step.ASSIGN_GUEST_RULES: timedelta(minutes=20),
    Step.SET_PROPERTIES: timedelta(minutes=20),
    # A new group is unknown to the team service for up to 15 minutes, "reports: hours".
    Step.CREATE_TEAM: timedelta(hours=2),
    Step.CREATE_CHANNELS: timedelta(hours=2),
    # A new mailbox can be worked on after minutes; tools in the field wait 15 (CIPP, pull request 170).
    Step.SET_ADDRESS_FIELDS: timedelta(minutes=20),
    Step.SET_BOOKING: timedelta(minutes=20),
    Step.SET_AUTOMATIC_REPLY: timedelta(minutes=20),
    Step.SET_QUOTA: timedelta(minutes=20),
    Step.SET_CAPACITY: timedelta(minutes=20),
    Step.SET_VISIBILITY: timedelta(minutes=20),
    Step.SET_ALIASES: timedelta(minutes=20),
    Step.SET_OWNERS: timedelta(minutes=20),
    # The first step of an assignment: retries can outlast an outage of the directory. Our choice.
    Step.MARK_ASSIGNMENT: timedelta(hours=24),
    Step.SET_GUEST_ACCESS: timedelta(minutes=20),
    Step.SET_GUEST_DOMAINS: timedelta(minutes=20),
    Step.SET_SHARING_CAPABILITY: timedelta(minutes=20),
    # Permissions take up to 2 hours to be effective. Properties of a place take up to 24 hours to be visible.
    Step.SET_PERMISSIONS: timedelta(hours=2),
    Step.SET_PLACE: timedelta(hours=24),
    # As most of the steps that it repeats.
    Step.REPAIR_DRIFT: timedelta(minutes=20),
}


@dataclass(frozen=True, slots=True)
class After:
    """Retry at this time.

    Callers see the reason until then. A failure of the same cause after `ends_at` is final; None has no end.
    """

    at: datetime
    reason: Reason
    ends_at: datetime | None
    waited: Waited


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further retry. The request fails with this code and detail."""

    code: str
    detail: str


def retry_step(
    step: Step, fault: OutsideFault, *, attempt: int, first: datetime, now: datetime, before: Waited | None = None
) -> After | GiveUp:
    """Return the retry of a failed step.

    `attempt` counts the attempts; `first` is the time of the first one. `before` is the time that the step has waited
    before this attempt.
    """
    if isinstance(fault, Rejected):
        return GiveUp(fault.code, fault.detail)
    if isinstance(fault, TryAgain):
        waited, end = wait_longer(before, fault, since=first, now=now), end_of(step, fault.cause)
        left = end - waited.spent(fault.cause)
        if not fault.is_attempt:
            # An administrator repairs the connection, or a budget names the turn, however long that takes.
            return After(now + max(fault.after, SHORTEST_WAIT), fault.because, None, waited)
        # The last wait may exceed the end, for example if the directory asks for half an hour.
        if left > timedelta(0):
            return After(now + wait_after(attempt, fault.after), fault.because, now + left, waited)
        return GiveUp("directoryNotReady", f"{fault.reason} This was tried for {spoken(end)}. Retry the request later.")
    # There is no third kind of fault. A new one is a bug.
    raise fault


def end_of(step: Step, cause: Cause) -> timedelta:
    """Return the longest time that a step waits for this cause."""
    return ENDS[step] if cause is Cause.NOT_YET else UNAVAILABLE_END


def wait_after(attempt: int, least: timedelta) -> timedelta:
    """Return the backoff after an attempt, at least `least`."""
    least = max(least, SHORTEST_WAIT)
    grown = least * GROWTH[min(attempt, len(GROWTH)) - 1]
    return max(least, min(grown, LONGEST_GROWN_WAIT))


def spoken(span: timedelta) -> str:
    """Format a span of whole minutes."""
    minutes = span // timedelta(minutes=1)
    return f"{minutes} minutes" if minutes < 60 else f"{minutes // 60} hours"
