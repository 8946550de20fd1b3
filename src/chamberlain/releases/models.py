# SPDX-License-Identifier: Apache-2.0
"""Values of releases: types of objects, states, items and previews."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from chamberlain.auth.models import Editor
from chamberlain.changes.models import Change, Subject, change_by
from chamberlain.core.errors import Conflict, OutsideFault, TryAgain
from chamberlain.core.ids import ReleaseId, RequestId, TenantId
from chamberlain.core.values import Json
from chamberlain.core.waits import Waited, wait_longer

# Objects and skipped objects that are shown with their names.
MOST_SHOWN = 100
# A mark that the directory does not remove within this time is reported, as by the undo of an adoption.
TIMEOUT = timedelta(days=1)
# Searches lag behind writes. Our choice: a mailbox that is not found for so long was deleted in the directory.
NOT_SHOWN_FOR = timedelta(minutes=10)


class ReleaseType(StrEnum):
    """The types of objects that a release can give back."""

    MAILBOX = "mailbox"
    GROUP = "group"
    TEAM = "team"
    ASSIGNMENT = "assignment"


class ReleaseState(StrEnum):
    """The state of a release."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"


class ItemState(StrEnum):
    """The state of an item."""

    PENDING = "pending"
    RELEASED = "released"
    SKIPPED = "skipped"


class ReleaseReason(StrEnum):
    """Reasons to skip an object, and remarks about released ones."""

    REQUEST_OPEN = "requestOpen"
    REQUEST_FAILED = "requestFailed"
    ADOPTION_RUNNING = "adoptionRunning"
    ASSIGNED_AGAIN = "assignedAgain"
    GONE = "gone"
    MARK_STAYS = "markStays"


DETAILS: Mapping[ReleaseReason, str] = MappingProxyType(
    {
        ReleaseReason.REQUEST_OPEN: "Its request has not ended. Cancel the request, or wait until it ends.",
        ReleaseReason.REQUEST_FAILED: "Its request has failed. Cancel or retry the request.",
        ReleaseReason.ADOPTION_RUNNING: "Its adoption is running or being undone. Wait until the adoption ends.",
        ReleaseReason.ASSIGNED_AGAIN: "It was assigned again during the release. Start another release.",
        ReleaseReason.GONE: "It is no longer in the directory. Its record is removed.",
        ReleaseReason.MARK_STAYS: "The directory has not removed its mark for a day. Remove the mark there.",
    }
)


@dataclass(frozen=True, slots=True)
class ReleasedObject:
    """An object of a release or preview.

    `id` is that of the mailbox, group or site. `reason` is None unless it is skipped, or needs a remark.
    """

    type: ReleaseType
    id: UUID
    display_name: str
    mail: str | None
    reason: ReleaseReason | None = None


@dataclass(frozen=True, slots=True)
class ReleasePreview:
    """Dry run of a release: objects to release, and objects to skip.

    `objects` and `skipped` are the first hundred.
    """

    types: tuple[ReleaseType, ...]
    counts: Mapping[ReleaseType, int]
    skipped_counts: Mapping[ReleaseReason, int]
    objects: tuple[ReleasedObject, ...]
    skipped: tuple[ReleasedObject, ...]


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """A release with its counts. `total` objects were to be released."""

    id: ReleaseId
    tenant_id: TenantId
    types: tuple[ReleaseType, ...]
    state: ReleaseState
    total: int
    released: int
    skipped: int
    editor: Editor
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReleaseView:
    """A release with its first hundred remarks."""

    record: ReleaseRecord
    remarks: tuple[ReleasedObject, ...]


@dataclass(frozen=True, slots=True)
class ReleaseItem:
    """An object to release.

    `key` is the request of a mailbox or group, and the group or site of an assignment. `object_id` is the id in the
    directory, if known. `generation` is that of an assignment that this release has cleared. `waits_since` is the start
    of a wait for the directory, `waited` its time by cause.
    """

    type: ReleaseType
    key: UUID
    id: UUID
    object_id: UUID | None
    request_id: RequestId | None
    display_name: str
    mail: str | None
    generation: int | None
    waits_since: datetime | None
    waited: Waited | None = None

    @property
    def place(self) -> tuple[ReleaseType, UUID]:
        """Return the key within its release."""
        return self.type, self.key

    def wait(self, fault: TryAgain, *, now: datetime) -> Waited:
        """Return the time by cause, with the wait for this fault."""
        return wait_longer(self.waited, fault, since=self.waits_since or now, now=now)


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The end of an item, with an optional reason."""

    item: ReleaseItem
    state: ItemState
    reason: ReleaseReason | None = None


def outcome_after(item: ReleaseItem, fault: OutsideFault | None, *, now: datetime) -> ItemOutcome | TryAgain:
    """Decide on an item after the removal of its mark.

    The directory rejects an object only if it no longer has it.
    """
    if fault is None:
        return ItemOutcome(item, ItemState.RELEASED)
    if not isinstance(fault, TryAgain):
        return ItemOutcome(item, ItemState.RELEASED, ReleaseReason.GONE)
    stays = ItemOutcome(item, ItemState.RELEASED, ReleaseReason.MARK_STAYS)
    return stays if _has_timed_out(item, fault, TIMEOUT, now) else fault


def outcome_without(item: ReleaseItem, fault: TryAgain, *, now: datetime) -> ItemOutcome | TryAgain:
    """Decide on an item that the directory does not show."""
    gone = ItemOutcome(item, ItemState.RELEASED, ReleaseReason.GONE)
    return gone if _has_timed_out(item, fault, NOT_SHOWN_FOR, now) else fault


def _has_timed_out(item: ReleaseItem, fault: TryAgain, time: timedelta, now: datetime) -> bool:
    # A broken connection and a budget have no timeout.
    return fault.is_attempt and item.wait(fault, now=now).spent(fault.cause) >= time


def release_running() -> Conflict:
    """Build the error for a second release."""
    detail = "A release of this tenant is running. GET /admin/v1/releases/ shows its progress. Wait until it ends."
    return Conflict("stateDoesNotAllow", detail)


# Noun of releases in the audit trail.
NOUN = "release"


def started(record: ReleaseRecord, said: Mapping[str, str]) -> Change:
    """Build the audit entry of a start."""
    counts = {"total": record.total, "skipped": record.skipped}
    subject = Subject(NOUN, record.id, ", ".join(record.types))
    return _change(record, "release.start", subject, {"types": [*record.types], **counts, **said})


def released(record: ReleaseRecord, outcome: ItemOutcome) -> Change:
    """Build the audit entry of a released mailbox or group."""
    item = outcome.item
    noun = "mailbox" if item.type is ReleaseType.MAILBOX else "group"
    remark = {} if outcome.reason is None else {"reason": str(outcome.reason)}
    subject = Subject(noun, item.id, item.display_name)
    return _change(record, f"{noun}.release", subject, {"releaseId": str(record.id), **remark}, item.request_id)


def _change(
    record: ReleaseRecord,
    action: str,
    subject: Subject,
    after: Mapping[str, Json],
    request_id: RequestId | None = None,
) -> Change:
    return change_by(record.editor, record.tenant_id, action, subject, before=None, after=after, request_id=request_id)
