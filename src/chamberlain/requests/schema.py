# SPDX-License-Identifier: Apache-2.0
"""JSON of approval rules in templates, and of named approvers."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Annotated, assert_never
from uuid import UUID

from msgspec import Meta

from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Shape, shaped
from chamberlain.core.ids import UserId
from chamberlain.core.validation import Reader, duplicate_faults
from chamberlain.requests.models import ApprovalLevel, ApprovalMode, ApprovalRule, Approver, ApproverType
from chamberlain.requests.replies import LONGEST_MAIL
from chamberlain.requests.rules import Naming


class UserApprover(Shape, frozen=True, kw_only=True, tag_field="type", tag="user"):
    """A user."""

    id: UUID


class GroupApprover(Shape, frozen=True, kw_only=True, tag_field="type", tag="group"):
    """The members of a group."""

    id: UUID


class ManagerApprover(Shape, frozen=True, kw_only=True, tag_field="type", tag="manager"):
    """The manager of the requester."""


ApproverShape = UserApprover | GroupApprover | ManagerApprover


class ApprovalLevelShape(Shape, frozen=True, kw_only=True):
    """One or all of these approvers."""

    mode: ApprovalMode
    approvers: Annotated[tuple[ApproverShape, ...], Meta(min_length=1, max_length=100)]


class ApprovalShape(Shape, frozen=True, kw_only=True):
    """Up to three levels. Without a deadline a request waits indefinitely."""

    levels: Annotated[tuple[ApprovalLevelShape, ...], Meta(min_length=1, max_length=3)]
    deadline_days: Annotated[int, Meta(ge=1, le=365)] | None = None


def approval_faults(shape: ApprovalShape | None, pointer: str) -> Iterator[Fault]:
    """Validate that no level names an approver twice."""
    for place, level in enumerate(() if shape is None else shape.levels):
        yield from duplicate_faults(level.approvers, f"{pointer}/levels/{place}/approvers")


def to_approval_rule(shape: ApprovalShape) -> ApprovalRule:
    """Convert an approval to a rule."""
    levels = [
        ApprovalLevel(mode=level.mode, approvers=tuple(_to_approver(each) for each in level.approvers))
        for level in shape.levels
    ]
    return ApprovalRule(levels=tuple(levels), deadline_days=shape.deadline_days)


def _to_approver(shape: ApproverShape) -> Approver:
    match shape:
        case UserApprover():
            return Approver(ApproverType.USER, shape.id)
        case GroupApprover():
            return Approver(ApproverType.GROUP, shape.id)
        case ManagerApprover():
            return Approver(ApproverType.MANAGER, None)
        case _:
            assert_never(shape)


class ApproversBody(Shape, frozen=True, kw_only=True):
    """Users to name as approvers of a blocked level."""

    level: Annotated[int, Meta(ge=1, le=3)]
    user_ids: Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=100)]


APPROVERS = Reader(ApproversBody)

# Characters of the longest mail in base64.
_LONGEST_MAIL_TEXT = (LONGEST_MAIL + 2) // 3 * 4


class ReplyBody(Shape, frozen=True, kw_only=True):
    """A raw mail (RFC 5322) in base64."""

    mail: Annotated[str, shaped(r"[A-Za-z0-9+/]+={0,2}", "must be base64 without line breaks", _LONGEST_MAIL_TEXT)]


REPLY = Reader(ReplyBody)


def to_mail(body: ReplyBody) -> bytes:
    """Decode the mail. Raises BodyInvalid."""
    try:
        return b64decode(body.mail, validate=True)
    except ValueError as error:
        raise BodyInvalid(
            [Fault.build("/mail", "invalidText", "The mail must be in base64, without line breaks.")]
        ) from error


def to_naming(body: ApproversBody) -> Naming:
    """Convert a body, and deduplicate its users."""
    return Naming(body.level, tuple(dict.fromkeys(map(UserId, body.user_ids))))
