# SPDX-License-Identifier: Apache-2.0
"""Shapes of the answers of Graph.

They have the properties that the adapter reads. An answer of another shape is that of a proxy, or of a defect of Graph.
It counts as lost.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import Struct, field

from chamberlain.directory.microsoft365 import operations as known
from chamberlain.directory.microsoft365.operations import Operation

_CREATED: Final = 201


class _Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """Other properties are ignored."""


class _Plan(_Shape, frozen=True):
    capability_status: str | None = None
    service_plan_id: str | None = None


class _Activity(_Shape, frozen=True):
    last_sign_in_date_time: datetime | None = None
    last_non_interactive_sign_in_date_time: datetime | None = None


class _Value(_Shape, frozen=True):
    name: str
    value: str | None = None


class _Channel(_Shape, frozen=True):
    id: str
    display_name: str | None = None
    created_date_time: datetime | None = None


class Object(_Shape, frozen=True):
    """A user, a group, a contact, or a setting of a group."""

    id: UUID
    display_name: str | None = None
    description: str | None = None
    mail: str | None = None
    mail_nickname: str | None = None
    visibility: str | None = None
    group_types: list[str] | None = None
    resource_provisioning_options: list[str] | None = None
    unique_name: str | None = None
    membership_rule: str | None = None
    created_date_time: datetime | None = None
    user_principal_name: str | None = None
    user_type: str | None = None
    assigned_plans: list[_Plan] | None = None
    proxy_addresses: list[str] | None = None
    business_phones: list[str] | None = None
    sign_in_activity: _Activity | None = None
    given_name: str | None = None
    surname: str | None = None
    department: str | None = None
    job_title: str | None = None
    company_name: str | None = None
    office_location: str | None = None
    employee_id: str | None = None
    mobile_phone: str | None = None
    street_address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    state: str | None = None
    country: str | None = None
    usage_location: str | None = None
    preferred_language: str | None = None
    template_id: str | None = None
    values: list[_Value] | None = None


class _Objects(_Shape, frozen=True):
    value: list[Object]
    count: int = field(default=0, name="@odata.count")
    next_link: str | None = field(default=None, name="@odata.nextLink")


class _Channels(_Shape, frozen=True):
    value: list[_Channel]
    next_link: str | None = field(default=None, name="@odata.nextLink")


class _Page(_Shape, frozen=True):
    """A page of changes before the last one."""

    value: list[Object]
    next_link: str = field(name="@odata.nextLink")


class _LastPage(_Shape, frozen=True):
    value: list[Object]
    delta_link: str = field(name="@odata.deltaLink")


class _Ids(_Shape, frozen=True):
    value: list[UUID]


class _Result(_Shape, frozen=True):
    user_id: UUID


class _Results(_Shape, frozen=True):
    value: list[_Result]


class _Part(_Shape, frozen=True):
    id: str
    status: int
    headers: dict[str, str | float] | None = None


class _Parts(_Shape, frozen=True):
    responses: list[_Part]


# Other operations answer with nothing that is read.
_SHAPES: Final[Mapping[Operation, type[_Shape]]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                known.LIST_USERS, known.LIST_CONTACTS, known.LIST_GROUPS, known.LIST_MEMBERS, known.LIST_MEMBER_USERS,
                known.LIST_ALL_USERS, known.LIST_OWNERS, known.LIST_SETTINGS,
            ),
            _Objects,
        ),
        **dict.fromkeys(
            (
                known.GET_USER, known.GET_ACTIVITY, known.GET_MANAGER, known.GET_GROUP, known.GET_NAMED_GROUP,
                known.CREATE_GROUP, known.UPSERT_GROUP, known.CREATE_SETTING,
            ),
            Object,
        ),
        known.LIST_CHANNELS: _Channels,
        known.CHECK_GROUPS: _Ids,
        known.ADD_TEAM_MEMBERS: _Results,
    }
)  # fmt: skip


def is_published(operation: Operation, status: int, body: Mapping[str, Any]) -> bool:
    """Return whether a successful answer has the shape of its operation."""
    if operation == known.UPSERT_GROUP and status != _CREATED:
        # The group exists, and is not returned.
        return True
    if operation == known.LIST_CHANGES:
        return _has(body, _Page if "@odata.nextLink" in body else _LastPage)
    shape = _SHAPES.get(operation)
    return shape is None or _has(body, shape)


def is_batch(body: Mapping[str, Any]) -> bool:
    """Return whether the body is that of a batch."""
    return _has(body, _Parts)


def _has(body: Mapping[str, Any], shape: type[_Shape]) -> bool:
    try:
        msgspec.convert(body, shape)
    except msgspec.ValidationError:
        return False
    return True
