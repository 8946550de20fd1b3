"""What the directory is asked for when differences are put right: these properties alone, by the steps that they need.

A directory may do all at once that is wanted. So nothing else is wanted here: what people may change by themselves is
not put back beside what they may not.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Protocol, TypeVar
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
from chamberlain.directory.port import Directory, Guests, GuestWork, MailboxWork, Work
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import GuestRules, ObservedSubject, WantedGuestRules
from chamberlain.drift.compare import Difference, others_permitted, wrongly_mapped
from chamberlain.drift.models import Broken, ManagedAssignment, ManagedGroup, ManagedMailbox, apart
from chamberlain.drift.pages import Place
from chamberlain.drift.properties import ADDRESS_FIELDS, EQUIPMENT_FIELDS, PLACE_FIELDS

_RULES = {
    "allowed": DriftProperty.ASSIGNMENT_ALLOWED,
    "added_by": DriftProperty.ASSIGNMENT_ADDED_BY,
    "allowed_domains": DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS,
    "blocked_domains": DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS,
}


def steps_of(differences: Iterable[Difference]) -> tuple[Step, ...]:
    """The steps that put these right, in the order in which steps are taken."""
    needed = {step for difference in differences for step in difference.steps}
    return tuple([step for step in Step if step in needed])


def mailbox_repair(
    wanted: WantedMailbox, observed: ObservedMailbox, broken: AbstractSet[DriftProperty]
) -> WantedMailbox:
    """What is wanted of a mailbox when these properties are put right."""
    permissions, revoked = _permission_repair(wanted, observed, broken)
    return replace(
        wanted,
        display_name=wanted.display_name if DriftProperty.MAILBOX_DISPLAY_NAME in broken else observed.display_name,
        aliases=wanted.aliases if DriftProperty.MAILBOX_ALIAS in broken else (),
        address_fields=AddressFields(**_of(wanted.address_fields, ADDRESS_FIELDS, broken)),
        place=None if wanted.place is None else _place_repair(wanted.place, broken),
        books_automatically=wanted.books_automatically and DriftProperty.MAILBOX_BOOKING in broken,
        automatic_reply=wanted.automatic_reply if DriftProperty.MAILBOX_AUTOMATIC_REPLY in broken else None,
        quota_megabytes=wanted.quota_megabytes if DriftProperty.MAILBOX_CAPACITY in broken else None,
        capacity=wanted.capacity if DriftProperty.MAILBOX_CAPACITY in broken else None,
        is_hidden=wanted.is_hidden if DriftProperty.MAILBOX_HIDDEN in broken else None,
        owners=wanted.owners if DriftProperty.MAILBOX_OWNERS in broken else (),
        permissions=permissions,
        revoked=revoked,
    )


def group_repair(wanted: WantedGroup, observed: ObservedGroup, broken: AbstractSet[DriftProperty]) -> WantedGroup:
    """What is wanted of a group or team when these properties are put right. Owners are members as well. Of people only
    those who are missing are asked for: what the directory would say of the others is of no concern."""
    owners = [owner for owner in wanted.owners if DriftProperty.GROUP_OWNERS in broken and owner not in observed.owners]
    absent = [member for member in wanted.members if member not in observed.members]
    members = absent if DriftProperty.GROUP_MEMBERS in broken else owners
    teams = {DriftProperty.GROUP_IS_TEAM, DriftProperty.GROUP_CHANNELS}
    shown_type = wanted.member_ship_type if observed.member_ship_type is None else observed.member_ship_type
    return replace(
        wanted,
        display_name=wanted.display_name if DriftProperty.GROUP_DISPLAY_NAME in broken else observed.display_name,
        description=wanted.description if DriftProperty.GROUP_DESCRIPTION in broken else observed.description,
        member_ship_type=wanted.member_ship_type if DriftProperty.GROUP_MEMBER_SHIP_TYPE in broken else shown_type,
        owners=tuple(owners),
        members=tuple([member for member in members if member in wanted.members]),
        label_id=wanted.label_id if DriftProperty.GROUP_LABEL in broken else None,
        channels=None if teams.isdisjoint(broken) else wanted.channels,
        marks={"requestId": str(wanted.request_id)},
    )


def assignment_repair(
    wanted: WantedGuestRules, observed: ObservedSubject, broken: AbstractSet[DriftProperty]
) -> WantedGuestRules:
    """What is wanted of a group or site when these properties of its assignment are put right."""
    has_template = DriftProperty.ASSIGNMENT_TEMPLATE in broken
    has_policy = DriftProperty.ASSIGNMENT_POLICY in broken
    return replace(
        wanted,
        template_id=wanted.template_id if has_template else observed.template_id,
        policy_id=wanted.policy_id if has_policy else observed.policy_id,
        rules=_rules_repair(wanted.rules, observed.rules, broken),
        remove_guests=(),
    )


def _place_repair(wanted: MailboxPlace, broken: AbstractSet[DriftProperty]) -> MailboxPlace:
    equipment = RoomEquipment(**_of(wanted.equipment, EQUIPMENT_FIELDS, broken))
    return MailboxPlace(**_of(wanted, PLACE_FIELDS, broken), equipment=equipment)


def _of(part: object, properties: Mapping[str, DriftProperty], broken: AbstractSet[DriftProperty]) -> Mapping[str, Any]:
    """The fields of it that are to be put right. Any: each goes to the field of its own name, whatever its type."""
    return {name: getattr(part, name) for name, each in properties.items() if each in broken}


def _permission_repair(
    wanted: WantedMailbox, observed: ObservedMailbox, broken: AbstractSet[DriftProperty]
) -> tuple[Mapping[UserId, PermissionLevel], frozenset[UserId]]:
    """Who gets which level, and who loses all."""
    users: set[UserId] = set()
    revoked: set[UserId] = set()
    if DriftProperty.MAILBOX_PERMISSIONS in broken:
        levels = wanted.permissions.items()
        users.update([user for user, level in levels if observed.permissions.get(user) is not level])
        revoked.update(wanted.revoked)
    if DriftProperty.MAILBOX_AUTO_MAPPING in broken:
        users.update(wrongly_mapped(wanted, observed))
    if DriftProperty.MAILBOX_ADDITIONAL_PERMISSIONS in broken:
        revoked.update(others_permitted(wanted, observed))
    return {user: wanted.permissions[user] for user in sorted(users)}, frozenset(revoked)


def _rules_repair(
    wanted: GuestRules | None, observed: GuestRules | None, broken: AbstractSet[DriftProperty]
) -> GuestRules | None:
    """One step sets several of them: those that may differ stay as they are."""
    if wanted is None or observed is None:
        return wanted
    kept = {name: getattr(observed, name) for name, each in _RULES.items() if each not in broken}
    return replace(wanted, **kept)


async def mend(directory: Directory, guests: Guests, broken: Sequence[Broken]) -> Mapping[Place, OutsideFault | None]:
    """Put these right, and say of each property what stopped it. A refusal may be of one among several; where the same
    steps put all of them right, it is of these."""
    came = await _ensure(directory, guests, broken)
    faults = _of_places(broken, came)
    for turn in apart([each for each in broken if _is_divisible(each) and isinstance(came.get(each[0].id), Rejected)]):
        faults |= _of_places(turn, await _ensure(directory, guests, turn))
    return faults


def _is_divisible(broken: Broken) -> bool:
    return len({each.steps for each in broken[1]}) > 1


async def _ensure(directory: Directory, guests: Guests, broken: Sequence[Broken]) -> Mapping[UUID, OutsideFault | None]:
    try:
        return {
            **await _ensured(_mailbox_works(broken), directory.ensure_mailboxes),
            **await _ensured(_group_works(broken), directory.ensure),
            **await _ensured(_assignment_works(broken), guests.ensure),
        }
    except TryAgain as fault:
        return {look.id: fault for look, _ in broken}


def _of_places(
    broken: Sequence[Broken], faults: Mapping[UUID, OutsideFault | None]
) -> dict[Place, OutsideFault | None]:
    return {(look.id, each.name.path): faults.get(look.id) for look, differences in broken for each in differences}


class Faulty(Protocol):
    """What came of a piece of work, as far as it matters here."""

    @property
    def fault(self) -> OutsideFault | None: ...


Wanted = TypeVar("Wanted")


async def _ensured(
    works: Mapping[UUID, Wanted], ensure: Callable[[Sequence[Wanted]], Awaitable[Sequence[Faulty]]]
) -> Mapping[UUID, OutsideFault | None]:
    outcomes = await ensure(list(works.values())) if works else ()
    return {id_: outcome.fault for id_, outcome in zip(works, outcomes, strict=True)}


def _mailbox_works(broken: Sequence[Broken]) -> Mapping[UUID, MailboxWork]:
    return {
        look.id: MailboxWork(mailbox_repair(look.managed.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedMailbox) and isinstance(look.observed, ObservedMailbox)
    }


def _group_works(broken: Sequence[Broken]) -> Mapping[UUID, Work]:
    return {
        look.id: Work(group_repair(look.managed.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedGroup) and isinstance(look.observed, ObservedGroup)
    }


def _assignment_works(broken: Sequence[Broken]) -> Mapping[UUID, GuestWork]:
    return {
        look.id: GuestWork(assignment_repair(look.managed.assigned.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedAssignment) and isinstance(look.observed, ObservedSubject)
    }


def _names(differences: Sequence[Difference]) -> frozenset[DriftProperty]:
    return frozenset(each.name for each in differences)
