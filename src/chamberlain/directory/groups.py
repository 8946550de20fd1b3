# SPDX-License-Identifier: Apache-2.0
"""Groups and teams in the directory: desired and observed state."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.directory.steps import Step


class MemberShipType(IntEnum):
    """Membership type of a group.

    The API spells the property memberShipType, and so does the code.
    """

    PRIVATE = 0
    PUBLIC = 1
    DYNAMIC = 2


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """Desired state of a group or team.

    `owners` are members as well, except in a dynamic group, whose members follow `membership_rule`. `extension` is the
    name of the extension attribute (`<prefix>_group`) and `marks` has its members, such as `requestId`. `channels` is
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
    """Finds the group of a request in the directory, by its mark.

    `id` is its id in the directory, if it is known. Reads by id are the most consistent. An object with this id but
    with another mark, or of another tenant, is not the object of the request.
    """

    tenant_id: TenantId
    extension: str
    request_id: RequestId
    id: GroupId | None = None


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """Observed state of a group.

    `channels` is None unless it is a team. `member_ship_type` is None if the directory does not report it.
    `observed_at` is the time of this state, or None for the time of the read: the index of a directory may lag behind.
    """

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
    observed_at: datetime | None = field(default=None, compare=False)


def written_group(wanted: WantedGroup, group_id: GroupId) -> ObservedGroup:
    """Return the group as it was written.

    For a directory whose writes are not read back. The members of a dynamic group are not known.
    """
    is_dynamic = wanted.member_ship_type is MemberShipType.DYNAMIC
    return ObservedGroup(
        id=group_id,
        display_name=wanted.display_name,
        mail=wanted.mail,
        mail_nickname=wanted.mail_nickname,
        owners=frozenset(wanted.owners),
        members=frozenset(() if is_dynamic else (*wanted.owners, *wanted.members)),
        label_id=wanted.label_id,
        channels=wanted.channels,
        marks=wanted.marks,
        description=wanted.description,
        member_ship_type=wanted.member_ship_type,
    )


# The marks with their own step.
GUEST_MARKS = ("templateId", "policyId")


def remaining(wanted: WantedGroup, observed: ObservedGroup | None, steps: Iterable[Step]) -> tuple[Step, ...]:
    """List the steps whose effect is not observed yet."""
    return tuple([step for step in steps if observed is None or not is_done(step, wanted, observed)])


def _lowered(label: str | None) -> str | None:
    """Ids of labels are compared without regard to letter case."""
    return None if label is None else label.lower()


def is_done(step: Step, wanted: WantedGroup, observed: ObservedGroup) -> bool:
    """Return whether the effect of a step is observed."""
    match step:
        case Step.CHECK_PEOPLE | Step.CREATE_GROUP:
            # A group is created after the check of its people.
            return True
        case Step.ADD_OWNERS:
            return observed.owners.issuperset(wanted.owners)
        case Step.ADD_MEMBERS:
            return observed.members.issuperset(wanted.members)
        case Step.SET_LABEL:
            return _lowered(observed.label_id) == _lowered(wanted.label_id)
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
            | Step.REPAIR_DRIFT
        ):
            raise ValueError(f"{step} is no step of a group.")
