# SPDX-License-Identifier: Apache-2.0
"""Orders and names of groups and teams."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.core.ids import TemplateId, UserId
from chamberlain.core.values import value
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.models import MailAddress


@value(frozen=True, slots=True)
class GroupOrder:
    """The body of a group request; absent properties are None."""

    display_name: str
    template_id: TemplateId
    description: str | None = None
    member_ship_type: MemberShipType | None = None
    owners: tuple[UserId, ...] = ()
    members: tuple[UserId, ...] = ()
    metadata: Mapping[str, str | bool] | None = None
    label_id: str | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """The drawn numbers of naming rules; None without a counter."""

    display_name: int | None = None
    mail_nickname: int | None = None


@value(frozen=True, slots=True)
class GroupNames:
    """The display name of a group and its possible addresses, best first."""

    display_name: str
    addresses: tuple[MailAddress, ...]


NO_NUMBERS = Numbers()
