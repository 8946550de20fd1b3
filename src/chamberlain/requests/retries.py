"""Retries: whether a step that did not work is tried again, and when. Nobody else decides that.

The adapter says how long to wait at least (`TryAgain.after`: what the directory asked for, or what fits the step). From
there the waits grow, and they end at a time, not at a number of tries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.directory.steps import Step

# A first wait of 10 s grows to 15, 20, 30, 45, 60, 60 ... s: the law by which directories' own tools look for something
# that they have just written.
GROWTH = (1.0, 1.5, 2.0, 3.0, 4.5, 6.0)
# Growing stops here; a directory that asks for a longer wait gets it.
LONGEST_GROWN_WAIT = timedelta(seconds=60)
# An adapter that names no wait must not make the worker spin. Ours.
SHORTEST_WAIT = timedelta(milliseconds=100)

# The sources are those of the facts for Microsoft 365, 7.4: the slowest directory that there is an adapter for.
ENDS: Mapping[Step, timedelta] = {
    # Nothing is written yet, so that waiting costs nobody anything: an outage of the directory is outlasted. Ours.
    Step.CHECK_PEOPLE: timedelta(hours=24),
    Step.CREATE_GROUP: timedelta(hours=24),
    Step.CREATE_MAILBOX: timedelta(hours=24),
    # What was written is shown everywhere after 20 minutes (azuread provider, issue 1556).
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
    # The first step of an assignment is the first to meet the directory: an outage is outlasted. Ours.
    Step.MARK_ASSIGNMENT: timedelta(hours=24),
    Step.SET_GUEST_ACCESS: timedelta(minutes=20),
    Step.SET_GUEST_DOMAINS: timedelta(minutes=20),
    Step.SET_SHARING_CAPABILITY: timedelta(minutes=20),
    # Rights take up to 2 hours to be effective, and what is said of a place up to 24 to be seen.
    Step.SET_PERMISSIONS: timedelta(hours=2),
    Step.SET_PLACE: timedelta(hours=24),
}


@dataclass(frozen=True, slots=True)
class After:
    """Try again, at this time. `reason` is what the caller is shown until then; what fails after `ends_at` is given
    up."""

    at: datetime
    reason: str
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Never again by itself; somebody has to read why."""

    code: str
    detail: str


def retry_step(step: Step, fault: OutsideFault, *, attempt: int, first: datetime, now: datetime) -> After | GiveUp:
    """What becomes of a step that was tried `attempt` times, for the first time at `first`."""
    if isinstance(fault, Rejected):
        return GiveUp(fault.code, fault.detail)
    if isinstance(fault, TryAgain):
        end = ENDS[step]
        # The last wait may reach past the end: a directory that asks for half an hour shall have it.
        if now - first < end:
            return After(now + wait_after(attempt, fault.after), fault.reason, first + end)
        return GiveUp("directoryNotReady", f"{fault.reason} This was tried for {spoken(end)}. Retry the request later.")
    # There is no third kind; if there were, it would be a bug, and those are loud.
    raise fault


def wait_after(attempt: int, least: timedelta) -> timedelta:
    """How long to wait after so many tries, when the fault asks for at least so long."""
    least = max(least, SHORTEST_WAIT)
    grown = least * GROWTH[min(attempt, len(GROWTH)) - 1]
    return max(least, min(grown, LONGEST_GROWN_WAIT))


def spoken(span: timedelta) -> str:
    """A span of whole minutes in words."""
    minutes = span // timedelta(minutes=1)
    return f"{minutes} minutes" if minutes < 60 else f"{minutes // 60} hours"
