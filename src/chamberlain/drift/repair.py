# SPDX-License-Identifier: Apache-2.0
"""Repair drift: call the directory for the drifted properties only.

A directory may apply the whole desired state in one call. So the repair of one property keeps the observed values of
all others, which users may have changed on purpose.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import UserId
from chamberlain.directory.groups import ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import (
    AddressFields,
    ObservedMailbox,
    PermissionLevel,
    RoomEquipment,
    WantedMailbox,
)
from chamberlain.directory.mailboxes import (
    Place as MailboxPlace,
)
from chamberlain.directory.port import Directory, GroupWork, Guests, GuestWork, MailboxWork, Work
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import GuestRules, ObservedRules, ObservedSubject, WantedGuestRules
from chamberlain.drift.compare import (
    Difference,
    PlannedRepair,
    others_permitted,
    wrongly_mapped,
)
from chamberlain.drift.models import ManagedAssignment, ManagedGroup, ManagedMailbox
from chamberlain.drift.properties import ADDRESS_FIELDS, EQUIPMENT_FIELDS, PLACE_FIELDS
from chamberlain.drift.rules import Place

_RULES = {
    "allowed": DriftProperty.ASSIGNMENT_ALLOWED,
    "added_by": DriftProperty.ASSIGNMENT_ADDED_BY,
    "allowed_domains": DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS,
    "blocked_domains": DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS,
}


def needed_steps(differences: Iterable[Difference]) -> tuple[Step, ...]:
    """Return the steps that repair these differences, in the order of steps."""
    needed = {step for difference in differences for step in difference.steps}
    return tuple([step for step in Step if step in needed])


def mailbox_repair(
    wanted: WantedMailbox, observed: ObservedMailbox, planned: AbstractSet[DriftProperty]
) -> WantedMailbox:
    """Build the desired state that repairs these properties of a mailbox."""
    permissions, revoked = _permission_repair(wanted, observed, planned)
    return replace(
        wanted,
        display_name=wanted.display_name if DriftProperty.MAILBOX_DISPLAY_NAME in planned else observed.display_name,
        aliases=wanted.aliases if DriftProperty.MAILBOX_ALIAS in planned else (),
        address_fields=AddressFields(**_of(wanted.address_fields, ADDRESS_FIELDS, planned)),
        place=None if wanted.place is None else _place_repair(wanted.place, planned),
        books_automatically=wanted.books_automatically and DriftProperty.MAILBOX_BOOKING in planned,
        automatic_reply=wanted.automatic_reply if DriftProperty.MAILBOX_AUTOMATIC_REPLY in planned else None,
        quota_megabytes=wanted.quota_megabytes if DriftProperty.MAILBOX_CAPACITY in planned else None,
        capacity=wanted.capacity if DriftProperty.MAILBOX_CAPACITY in planned else None,
        is_hidden=wanted.is_hidden if DriftProperty.MAILBOX_HIDDEN in planned else None,
        owners=wanted.owners if DriftProperty.MAILBOX_OWNERS in planned else (),
        permissions=permissions,
        revoked=revoked,
    )


def group_repair(wanted: WantedGroup, observed: ObservedGroup, planned: AbstractSet[DriftProperty]) -> WantedGroup:
    """Build the desired state that repairs these properties of a group.

    Owners are members as well. People who are members already are left out, so that the directory does not validate
    them.
    """
    owners = [
        owner for owner in wanted.owners if DriftProperty.GROUP_OWNERS in planned and owner not in observed.owners
    ]
    absent = [member for member in wanted.members if member not in observed.members]
    members = absent if DriftProperty.GROUP_MEMBERS in planned else owners
    teams = {DriftProperty.GROUP_IS_TEAM, DriftProperty.GROUP_CHANNELS}
    shown_type = wanted.member_ship_type if observed.member_ship_type is None else observed.member_ship_type
    return replace(
        wanted,
        display_name=wanted.display_name if DriftProperty.GROUP_DISPLAY_NAME in planned else observed.display_name,
        description=wanted.description if DriftProperty.GROUP_DESCRIPTION in planned else observed.description,
        member_ship_type=wanted.member_ship_type if DriftProperty.GROUP_MEMBER_SHIP_TYPE in planned else shown_type,
        owners=tuple(owners),
        members=tuple([member for member in members if member in wanted.members]),
        label_id=wanted.label_id if DriftProperty.GROUP_LABEL in planned else None,
        channels=None if teams.isdisjoint(planned) else wanted.channels,
        marks={"requestId": str(wanted.request_id)},
    )


def assignment_repair(
    wanted: WantedGuestRules, observed: ObservedSubject, planned: AbstractSet[DriftProperty]
) -> WantedGuestRules:
    """Build the desired state that repairs these properties of an assignment."""
    has_template = DriftProperty.ASSIGNMENT_TEMPLATE in planned
    has_policy = DriftProperty.ASSIGNMENT_POLICY in planned
    return replace(
        wanted,
        template_id=wanted.template_id if has_template else observed.template_id,
        policy_id=wanted.policy_id if has_policy else observed.policy_id,
        rules=_rules_repair(wanted.rules, observed.rules, planned),
        remove_guests=(),
    )


async def repair(
    directory: Directory, guests: Guests, planned: Sequence[PlannedRepair]
) -> Mapping[Place, OutsideFault | None]:
    """Repair drift, and return the fault of each property.

    If the directory rejects several steps of an object, each is tried alone.
    """
    by_object = await _ensure(directory, guests, planned)
    faults = _faults_by_property(planned, by_object)
    refused = [each for each in planned if isinstance(by_object.get(each[0].id), Rejected)]
    for turn in split_by_steps([each for each in refused if len({one.steps for one in each[1]}) > 1]):
        faults |= _faults_by_property(turn, await _ensure(directory, guests, turn))
    return faults


def split_by_steps(planned: Sequence[PlannedRepair]) -> Sequence[Sequence[PlannedRepair]]:
    """Split repairs into rounds with one set of steps per object.

    A rejected step then blocks no other.
    """
    turns: list[list[PlannedRepair]] = []
    for comparison, differences in planned:
        by_steps = {each.steps: [one for one in differences if one.steps == each.steps] for each in differences}
        for place, together in enumerate(by_steps.values()):
            turns += [[]] if place == len(turns) else []
            turns[place].append((comparison, together))
    return turns


def _permission_repair(
    wanted: WantedMailbox, observed: ObservedMailbox, planned: AbstractSet[DriftProperty]
) -> tuple[Mapping[UserId, PermissionLevel], frozenset[UserId]]:
    """Return the permissions to set and the users to revoke."""
    users: set[UserId] = set()
    revoked: set[UserId] = set()
    if DriftProperty.MAILBOX_PERMISSIONS in planned:
        levels = wanted.permissions.items()
        users.update([user for user, level in levels if observed.permissions.get(user) is not level])
        revoked.update(wanted.revoked)
    if DriftProperty.MAILBOX_AUTO_MAPPING in planned:
        users.update(wrongly_mapped(wanted, observed))
    if DriftProperty.MAILBOX_ADDITIONAL_PERMISSIONS in planned:
        revoked.update(others_permitted(wanted, observed))
    return {user: wanted.permissions[user] for user in sorted(users)}, frozenset(revoked)


def _of(
    part: object, properties: Mapping[str, DriftProperty], planned: AbstractSet[DriftProperty]
) -> Mapping[str, Any]:
    """Return the fields to repair.

    Any: each value goes to the field of its own name, of any type.
    """
    return {name: getattr(part, name) for name, each in properties.items() if each in planned}


def _place_repair(wanted: MailboxPlace, planned: AbstractSet[DriftProperty]) -> MailboxPlace:
    equipment = RoomEquipment(**_of(wanted.equipment, EQUIPMENT_FIELDS, planned))
    return MailboxPlace(**_of(wanted, PLACE_FIELDS, planned), equipment=equipment)


def _rules_repair(
    wanted: GuestRules | None, observed: ObservedRules | None, planned: AbstractSet[DriftProperty]
) -> GuestRules | None:
    """Keep the observed value of rules that are not repaired.

    One step sets several rules. Those that the directory does not report are set as desired.
    """
    if wanted is None or observed is None:
        return wanted
    shown = {name: getattr(observed, name) for name, each in _RULES.items() if each not in planned}
    return replace(wanted, **{name: value for name, value in shown.items() if value is not None})


async def _ensure(
    directory: Directory, guests: Guests, planned: Sequence[PlannedRepair]
) -> Mapping[UUID, OutsideFault | None]:
    faults: dict[UUID, OutsideFault | None] = {}
    mailboxes, groups = _mailbox_repairs(planned), _group_repairs(planned)
    assignments = _assignment_repairs(planned)
    try:
        if mailboxes:
            outcomes = await directory.ensure_mailboxes(list(mailboxes.values()))
            faults |= zip(mailboxes, [outcome.fault for outcome in outcomes], strict=True)
        if groups:
            group_outcomes = await directory.ensure(list(groups.values()))
            faults |= zip(groups, [outcome.fault for outcome in group_outcomes], strict=True)
        if assignments:
            guest_outcomes = await guests.ensure(list(assignments.values()))
            faults |= zip(assignments, [outcome.fault for outcome in guest_outcomes], strict=True)
    except TryAgain as fault:
        return {comparison.id: fault for comparison, _ in planned}
    return faults


def _faults_by_property(
    planned: Sequence[PlannedRepair], faults: Mapping[UUID, OutsideFault | None]
) -> dict[Place, OutsideFault | None]:
    return {
        (comparison.id, each.name.path): faults.get(comparison.id)
        for comparison, differences in planned
        for each in differences
    }


def _mailbox_repairs(planned: Sequence[PlannedRepair]) -> Mapping[UUID, MailboxWork]:
    return {
        comparison.id: Work(
            mailbox_repair(comparison.managed.wanted, comparison.observed, _names(each)), needed_steps(each)
        )
        for comparison, each in planned
        if isinstance(comparison.managed, ManagedMailbox) and isinstance(comparison.observed, ObservedMailbox)
    }


def _group_repairs(planned: Sequence[PlannedRepair]) -> Mapping[UUID, GroupWork]:
    return {
        comparison.id: Work(
            group_repair(comparison.managed.wanted, comparison.observed, _names(each)), needed_steps(each)
        )
        for comparison, each in planned
        if isinstance(comparison.managed, ManagedGroup) and isinstance(comparison.observed, ObservedGroup)
    }


def _assignment_repairs(planned: Sequence[PlannedRepair]) -> Mapping[UUID, GuestWork]:
    return {
        comparison.id: Work(
            assignment_repair(comparison.managed.assigned.wanted, comparison.observed, _names(each)), needed_steps(each)
        )
        for comparison, each in planned
        if isinstance(comparison.managed, ManagedAssignment) and isinstance(comparison.observed, ObservedSubject)
    }


def _names(differences: Sequence[Difference]) -> frozenset[DriftProperty]:
    return frozenset(each.name for each in differences)
