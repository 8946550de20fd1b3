"""Groups and teams as the directory has them: wanted and observed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.directory.steps import Step


class MemberShipType(IntEnum):
    """Who may join; the API spells the property memberShipType, and so do we."""

    PRIVATE = 0
    PUBLIC = 1
    DYNAMIC = 2


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """A group or team as it shall be in the directory.

    `owners` are members as well, except in a dynamic group, whose members follow `membership_rule`. `extension` is the
    name of the extension attribute (`<prefix>_group`) and `marks` its members, `requestId` among them. `channels` is
    None for a group that is no team.
    """

    tenant_id: TenantId
    request_id: RequestId
    display_name: str
    mail_nickname: str
    mail: str
    description: str | None
    member_ship_type: MemberShipType
    membership_rule: str | None
    owners: tuple[UserId, ...]
    members: tuple[UserId, ...]
    label_id: str | None
    channels: tuple[str, ...] | None
    extension: str
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GroupReference:
    """How a group that we asked for is found again in the directory: by the mark that it carries."""

    tenant_id: TenantId
    extension: str
    request_id: RequestId


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group as the directory shows it. `channels` is None as long as it is no team; `member_ship_type` is None where
    the directory does not tell."""

    id: GroupId
    display_name: str
    mail: str
    mail_nickname: str
    owners: frozenset[UserId]
    members: frozenset[UserId]
    label_id: str | None
    channels: tuple[str, ...] | None
    marks: Mapping[str, str]
    description: str | None = None
    member_ship_type: MemberShipType | None = None


# Those of the marks that a step of their own sets.
GUEST_MARKS = ("templateId", "policyId")


def remaining(wanted: WantedGroup, observed: ObservedGroup | None, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Those of the steps whose effect the directory does not show yet."""
    return tuple([step for step in steps if observed is None or not is_done(step, wanted, observed)])


def is_done(step: Step, wanted: WantedGroup, observed: ObservedGroup) -> bool:
    """Whether a group that exists shows what this step brings about."""
    match step:
        case Step.CHECK_PEOPLE | Step.CREATE_GROUP:
            # A group is never created before its people are checked.
            return True
        case Step.ADD_OWNERS:
            return observed.owners.issuperset(wanted.owners)
        case Step.ADD_MEMBERS:
            return observed.members.issuperset(wanted.members)
        case Step.SET_LABEL:
            return observed.label_id == wanted.label_id
        case Step.SET_PROPERTIES:
            is_same = (observed.display_name, observed.description) == (wanted.display_name, wanted.description)
            return is_same and observed.member_ship_type in {None, wanted.member_ship_type}
        case Step.CREATE_TEAM:
            return observed.channels is not None
        case Step.CREATE_CHANNELS:
            return set(wanted.channels or ()).issubset(observed.channels or ())
        case Step.ASSIGN_GUEST_RULES:
            return all(observed.marks.get(mark) == wanted.marks[mark] for mark in GUEST_MARKS if mark in wanted.marks)
        case (
            Step.CREATE_MAILBOX
            | Step.SET_ADDRESS_FIELDS
            | Step.SET_PLACE
            | Step.SET_BOOKING
            | Step.SET_AUTOMATIC_REPLY
            | Step.SET_QUOTA
            | Step.SET_CAPACITY
            | Step.SET_VISIBILITY
            | Step.SET_ALIASES
            | Step.SET_PERMISSIONS
            | Step.SET_OWNERS
            | Step.MARK_ASSIGNMENT
            | Step.SET_GUEST_ACCESS
            | Step.SET_GUEST_DOMAINS
            | Step.SET_SHARING_CAPABILITY
        ):
            raise ValueError(f"{step} is no step of a group.")
