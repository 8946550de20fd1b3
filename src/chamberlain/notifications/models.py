# SPDX-License-Identifier: Apache-2.0
"""Notices: e-mail about requests and about the actions of guest policies.

A notice about a request belongs to an event, or to a change that has none, such as an approval. A notice holds ids
only. Recipients and content are read when it is sent.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chamberlain.core.ids import GroupId, NoticeId, RequestId, TenantId, UserId
from chamberlain.guests.models import FindingKind


class NoticeKind(StrEnum):
    """The kind of a notice about a request."""

    APPROVAL_REQUIRED = "approvalRequired"
    SUBSTITUTE_REQUIRED = "substituteRequired"
    APPROVAL_REMINDER = "approvalReminder"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    FAILED = "failed"


# Kinds that ask users for their decision. Their mails differ by recipient.
ASKING = frozenset({NoticeKind.APPROVAL_REQUIRED, NoticeKind.SUBSTITUTE_REQUIRED, NoticeKind.APPROVAL_REMINDER})


@dataclass(frozen=True, slots=True)
class AboutRequest:
    """A change of a request.

    `level` is the approval level that is due.
    """

    kind: NoticeKind
    request_id: RequestId
    level: int | None


@dataclass(frozen=True, slots=True)
class AboutSubject:
    """The report of a group's or site's policy. See guests/policies/reports.py."""

    subject_id: GroupId


@dataclass(frozen=True, slots=True)
class AboutDrift:
    """The findings of drift checks that were opened after `since`.

    None means all open ones.
    """

    since: datetime | None


# Kind of the notices about drift, and the findings that they list.
DRIFT_REPORT = "driftReport"
DRIFT_KINDS = (FindingKind.DRIFT, FindingKind.REPAIR_DOES_NOT_HOLD)


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice and its progress.

    `id` is that of the event, if there is one. `notified` are recipients who got it or never can. `attempts` counts
    incomplete tries.
    """

    tenant_id: TenantId
    id: NoticeId
    about: AboutRequest | AboutSubject | AboutDrift
    at: datetime
    attempts: int
    notified: frozenset[UserId]
