# SPDX-License-Identifier: Apache-2.0
"""Work for groups: a valid group, with optional changes."""

from dataclasses import replace
from typing import TypedDict, Unpack
from uuid import uuid4

from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.directory.groups import GroupReference, MemberShipType, WantedGroup
from chamberlain.directory.port import GroupWork, Work
from chamberlain.directory.steps import Step
from tests.directory.sample_directory import ADA, BEN, TENANT


class Changes(TypedDict, total=False):
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


def work(**changes: Unpack[Changes]) -> GroupWork:
    """Return work for a new group with owner Ada and member Ben, with changes."""
    request_id = changes.get("request_id", RequestId(uuid4()))
    wanted = WantedGroup(
        tenant_id=TENANT,
        request_id=request_id,
        display_name="Harbour",
        mail_nickname=f"harbour-{request_id}",
        mail=f"harbour-{request_id}@estate.example",
        description=None,
        member_ship_type=MemberShipType.PRIVATE,
        membership_rule=None,
        owners=(ADA,),
        members=(ADA, BEN),
        label_id=None,
        channels=None,
        extension="chamberlain_group",
        marks={"requestId": str(request_id)},
    )
    wanted = replace(wanted, **changes)
    steps = [Step.CREATE_GROUP, Step.ADD_OWNERS, Step.ADD_MEMBERS]
    if wanted.label_id is not None:
        steps.append(Step.SET_LABEL)
    if wanted.channels is not None:
        steps += [Step.CREATE_TEAM, Step.CREATE_CHANNELS]
    return Work(wanted, tuple(steps))


def reference(one: GroupWork) -> GroupReference:
    """Return the reference of the group."""
    return GroupReference(one.wanted.tenant_id, one.wanted.extension, one.wanted.request_id)
