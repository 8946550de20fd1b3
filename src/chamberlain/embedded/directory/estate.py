# SPDX-License-Identifier: Apache-2.0
"""The `directory:` section of a configuration file, validated.

It has the initial users, groups, sites and labels. Properties have the names and values of Graph. Every entry has its
tenant and its id.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct, ValidationError, convert

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Text = Annotated[str, Meta(max_length=1024)]
Address = Annotated[str, Meta(pattern=r"^[^@\s]{1,64}@[^@\s]{1,255}\Z")]
Time = Annotated[datetime, Meta(tz=True)]
SharingCapability = Literal[
    "disabled", "existingExternalUserSharingOnly", "externalUserSharingOnly", "externalUserAndGuestSharing"
]

GuestsAddedBy = Literal["members", "owners", "administrators"]


class EstateInvalid(ValueError):
    """The directory section is invalid; the sentence says where and why."""


class Entry(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An entry of the file; unknown properties are refused."""


class ServicePlan(Entry, frozen=True):
    """A part of a licence, such as `TEAMS1`.

    It is valid only in the state `Success`.
    """

    service_plan_name: Name
    provisioning_status: Literal["Success", "Disabled", "Error", "PendingInput", "PendingActivation"] = "Success"


class License(Entry, frozen=True):
    """A licence of a user for a product, with its service plans."""

    sku_part_number: Name
    service_plans: tuple[ServicePlan, ...] = ()


class User(Entry, frozen=True):
    """A user.

    Naming and membership rules can use all text properties. `lastSeenAt` is a guest's last activity.
    """

    id: UUID
    tenant: UUID
    display_name: Name
    user_principal_name: Address
    mail: Address | None = None
    user_type: Literal["Member", "Guest"] = "Member"
    account_enabled: bool = True
    last_seen_at: Time | None = None
    manager: UUID | None = None
    licenses: tuple[License, ...] = ()
    given_name: Text | None = None
    surname: Text | None = None
    department: Text | None = None
    job_title: Text | None = None
    company_name: Text | None = None
    office_location: Text | None = None
    employee_id: Text | None = None
    mobile_phone: Text | None = None
    street_address: Text | None = None
    postal_code: Text | None = None
    city: Text | None = None
    state: Text | None = None
    country: Text | None = None
    usage_location: Text | None = None
    preferred_language: Text | None = None


class GuestSettings(Entry, frozen=True):
    """The guest settings of a group.

    Without allowed domains, all domains are allowed except the blocked ones.
    """

    allow_to_add_guests: bool = True
    guests_added_by: GuestsAddedBy = "members"
    allowed_guest_domains: tuple[Name, ...] = ()
    blocked_guest_domains: tuple[Name, ...] = ()


class GuestDefault(GuestSettings, frozen=True, kw_only=True):
    """The guest settings of a tenant, for groups without their own."""

    tenant: UUID


class Group(Entry, frozen=True):
    """A group, or the security group of a site.

    Members are users or groups; a membership rule selects users. A group with `channels` is a team. `extensions`
    contains extension attributes by name, each an object of strings. Without `guestSettings` the tenant's default
    applies.
    """

    id: UUID
    tenant: UUID
    display_name: Name
    mail_nickname: Name
    mail: Address | None = None
    description: Text | None = None
    visibility: Literal["Private", "Public"] = "Private"
    group_types: tuple[Literal["Unified", "DynamicMembership"], ...] = ()
    membership_rule: Annotated[str, Meta(max_length=3072)] | None = None
    mail_enabled: bool = False
    security_enabled: bool = True
    label: Name | None = None
    owners: tuple[UUID, ...] = ()
    members: tuple[UUID, ...] = ()
    channels: tuple[Name, ...] | None = None
    extensions: Mapping[str, Mapping[str, str]] = {}
    guest_settings: GuestSettings | None = None


class Site(Entry, frozen=True):
    """A site.

    Its id is that of its security group, which is one of the groups.
    """

    security_group_id: UUID
    tenant: UUID
    display_name: Name
    web_url: Annotated[str, Meta(pattern=r"^https://\S{1,400}\Z")]
    sharing_capability: SharingCapability = "disabled"


class Label(Entry, frozen=True):
    """A sensitivity label."""

    id: Name
    tenant: UUID
    display_name: Name


class Estate(Entry, frozen=True):
    """The whole `directory:` section."""

    users: tuple[User, ...] = ()
    groups: tuple[Group, ...] = ()
    sites: tuple[Site, ...] = ()
    labels: tuple[Label, ...] = ()
    guest_defaults: tuple[GuestDefault, ...] = ()


def read_estate(section: Mapping[str, object]) -> Estate:
    """Validate the section. Raises EstateInvalid with the place and the reason."""
    try:
        return convert(section, Estate)
    except ValidationError as error:
        message = f"The directory section cannot be used: {error}"
        raise EstateInvalid(message) from error
