"""Approval: who must agree before a request is carried out."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class ApprovalMode(StrEnum):
    """Whether one approver of a level is enough."""

    ANY = "any"
    ALL = "all"


class ApproverType(StrEnum):
    """How an approver is named in a rule."""

    USER = "user"
    GROUP = "group"
    MANAGER = "manager"


@dataclass(frozen=True, slots=True)
class Approver:
    """A named user, the members of a group, or (without an id) the requester's manager."""

    type: ApproverType
    id: UUID | None


@dataclass(frozen=True, slots=True)
class ApprovalLevel:
    """One level: these approvers, one or all of them."""

    mode: ApprovalMode
    approvers: tuple[Approver, ...]


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One to three levels, each opened when the one before has approved; `deadline_days` None means no deadline."""

    levels: tuple[ApprovalLevel, ...]
    deadline_days: int | None
