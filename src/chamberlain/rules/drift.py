"""Drift: what the directory shows otherwise than it is wanted, property by property, compared by canonical ids.

What nobody ever wanted of us is never a difference: a property that was not asked for is as it may be.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from chamberlain.rules.changes import Json
from chamberlain.rules.drift_properties import PROPERTIES, DriftProperty
from chamberlain.rules.groups import MemberShipType, ObservedGroup, WantedGroup
from chamberlain.rules.guests import GuestRules, normalised
from chamberlain.rules.ids import UserId
from chamberlain.rules.mailboxes import ObservedMailbox, PermissionLevel, Place, WantedMailbox
from chamberlain.rules.plans import Step
from chamberlain.rules.subjects import ObservedSubject, WantedGuestRules

# So many of a list are told in a sentence and kept in a finding. Ours: a group has up to 10,000 members.
MOST_TOLD = 3
MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class Difference:
    """A property that differs, and the steps that would put it right. `digest` names all that is wanted of the
    property, also where `wanted` shows only what of it differs."""

    name: DriftProperty
    wanted: Json
    observed: Json
    steps: tuple[Step, ...]
    digest: str

    @property
    def detail(self) -> str:
        """The difference as a sentence."""
        words = PROPERTIES[self.name].words
        if self.observed is False and self.name in EXISTENCES:
            return f"{words[0].upper()}{words[1:]} is not in the directory any more."
        return (
            f"{words[0].upper()}{words[1:]}: wanted is {_told(self.wanted)}, and the directory shows "
            f"{_told(self.observed)}."
        )


EXISTENCES = frozenset({DriftProperty.MAILBOX_EXISTS, DriftProperty.GROUP_EXISTS})


def mailbox_differences(
    wanted: WantedMailbox, observed: ObservedMailbox | None, *, replies_freely: bool
) -> Iterator[Difference]:
    """What differs of a mailbox. With `replies_freely` its people may set another automatic reply."""
    if observed is None:
        yield _difference(DriftProperty.MAILBOX_EXISTS, wanted=True, observed=False)
        return
    for row in MAILBOX:
        left_alone = replies_freely and row.name is DriftProperty.MAILBOX_AUTOMATIC_REPLY
        if not left_alone:
            yield from _plain(row.name, row.wanted(wanted), row.observed(observed), row.step)
    yield from _missing_aliases(wanted, observed)
    yield from _permission_differences(wanted, observed)


def group_differences(wanted: WantedGroup, observed: ObservedGroup | None) -> Iterator[Difference]:
    """What differs of a group or team. Members of a dynamic group follow its rule, and are not compared."""
    if observed is None:
        yield _difference(DriftProperty.GROUP_EXISTS, wanted=True, observed=False)
        return
    yield from _plain(DriftProperty.GROUP_DISPLAY_NAME, wanted.display_name, observed.display_name)
    yield from _plain(DriftProperty.GROUP_MAIL, wanted.mail.lower(), observed.mail.lower())
    yield from _plain(DriftProperty.GROUP_DESCRIPTION, wanted.description or None, observed.description)
    if observed.member_ship_type is not None:
        yield from _plain(DriftProperty.GROUP_MEMBER_SHIP_TYPE, wanted.member_ship_type, observed.member_ship_type)
    yield from _plain(DriftProperty.GROUP_LABEL, wanted.label_id, observed.label_id, Step.SET_LABEL)
    yield from _missing(DriftProperty.GROUP_OWNERS, wanted.owners, observed.owners, Step.ADD_OWNERS)
    yield from _further(DriftProperty.GROUP_ADDITIONAL_OWNERS, wanted.owners, observed.owners)
    if wanted.member_ship_type is not MemberShipType.DYNAMIC:
        yield from _missing(DriftProperty.GROUP_MEMBERS, wanted.members, observed.members, Step.ADD_MEMBERS)
        yield from _further(DriftProperty.GROUP_ADDITIONAL_MEMBERS, wanted.members, observed.members)
    if wanted.channels is not None:
        yield from _team_differences(wanted.channels, observed.channels)


def assignment_differences(wanted: WantedGuestRules, observed: ObservedSubject) -> Iterator[Difference]:
    """What differs of what is assigned to a group or site. Without a guest template, guests may do there whatever
    somebody has set."""
    template, policy = wanted.template_id, wanted.policy_id
    yield from _exact(DriftProperty.ASSIGNMENT_TEMPLATE, template, observed.template_id, Step.MARK_ASSIGNMENT)
    yield from _exact(DriftProperty.ASSIGNMENT_POLICY, policy, observed.policy_id, Step.MARK_ASSIGNMENT)
    if wanted.rules is None:
        return
    for row in RULES:
        shown = row.without if observed.rules is None else row.value(observed.rules)
        yield from _exact(row.name, row.value(wanted.rules), shown, row.step)
    site, step = observed.site, Step.SET_SHARING_CAPABILITY
    if site is not None:
        sharing = wanted.rules.sharing or site.default_sharing
        yield from _exact(DriftProperty.ASSIGNMENT_SHARING, sharing, site.sharing, step)


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """A property of mailboxes that is one value. Wanted is None, or nothing, where nobody asked for it."""

    name: DriftProperty
    wanted: Callable[[WantedMailbox], object]
    observed: Callable[[ObservedMailbox], object]
    step: Step | None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A property of guest rules, and what a group shows of it that has none of its own."""

    name: DriftProperty
    value: Callable[[GuestRules], object]
    step: Step
    without: object = None


def _plain(
    drift_property: DriftProperty, wanted: object, observed: object, step: Step | None = None
) -> Iterator[Difference]:
    """A value that was asked for; lists have no order of their own."""
    if wanted is not None and wanted != ():
        yield from _exact(drift_property, wanted, observed, step)


def _exact(
    drift_property: DriftProperty, wanted: object, observed: object, step: Step | None = None
) -> Iterator[Difference]:
    """The same of a value of which it is also wanted that there is none."""
    if _comparable(wanted) != _comparable(observed):
        yield _difference(drift_property, wanted=json_of(wanted), observed=json_of(observed), step=step)


def _missing_aliases(wanted: WantedMailbox, observed: ObservedMailbox) -> Iterator[Difference]:
    there = {alias.lower() for alias in observed.aliases}
    missing = tuple([alias for alias in wanted.aliases if alias.lower() not in there])
    if missing:
        shown, step = json_of(observed.aliases), Step.SET_ALIASES
        yield _difference(DriftProperty.MAILBOX_ALIAS, wanted=json_of(missing), observed=shown, step=step)


def _permission_differences(wanted: WantedMailbox, observed: ObservedMailbox) -> Iterator[Difference]:
    levels = {**dict.fromkeys(wanted.revoked, PermissionLevel.NONE), **wanted.permissions}
    shown = {user: observed.permissions.get(user, PermissionLevel.NONE) for user in levels}
    differing = [user for user in levels if levels[user] is not shown[user]]
    if differing:
        yield _difference(
            DriftProperty.MAILBOX_PERMISSIONS,
            wanted={str(user): levels[user] for user in sorted(differing)},
            observed={str(user): shown[user] for user in sorted(differing)},
            step=Step.SET_PERMISSIONS,
            asked={str(user): levels[user] for user in levels},
        )
    if mapped := wrongly_mapped(wanted, observed):
        yield _difference(
            DriftProperty.MAILBOX_AUTO_MAPPING,
            wanted=dict.fromkeys(map(str, mapped), wanted.auto_mapping),
            observed=dict.fromkeys(map(str, mapped), not wanted.auto_mapping),
            step=Step.SET_PERMISSIONS,
            asked=wanted.auto_mapping,
        )
    further: dict[str, Json] = {str(user): observed.permissions[user] for user in others_permitted(wanted, observed)}
    if further:
        step = Step.SET_PERMISSIONS
        yield _difference(DriftProperty.MAILBOX_ADDITIONAL_PERMISSIONS, wanted={}, observed=further, step=step)


def wrongly_mapped(wanted: WantedMailbox, observed: ObservedMailbox) -> tuple[UserId, ...]:
    """Those who have full access as wanted, and an automatic mapping that is not."""
    full = PermissionLevel.FULL_ACCESS
    return tuple(
        [
            user
            for user in sorted(wanted.permissions)
            if wanted.permissions[user] is full
            and observed.permissions.get(user) is full
            and (user in observed.auto_mapped) is not wanted.auto_mapping
        ]
    )


def others_permitted(wanted: WantedMailbox, observed: ObservedMailbox) -> tuple[UserId, ...]:
    """Those who have a permission of whom nothing is wanted."""
    return tuple(sorted(observed.permissions.keys() - wanted.permissions.keys() - wanted.revoked))


def _missing(
    drift_property: DriftProperty, wanted: Iterable[UserId], observed: frozenset[UserId], step: Step
) -> Iterator[Difference]:
    missing = sorted(frozenset(wanted) - observed)
    if missing:
        asked = json_of(tuple(sorted(wanted)))
        yield _difference(drift_property, wanted=_kept(missing), observed=[], step=step, asked=asked)


def _further(
    drift_property: DriftProperty, wanted: Iterable[UserId], observed: frozenset[UserId]
) -> Iterator[Difference]:
    further = sorted(observed - frozenset(wanted))
    if further:
        yield _difference(drift_property, wanted=[], observed=_kept(further))


def _team_differences(wanted: tuple[str, ...], observed: tuple[str, ...] | None) -> Iterator[Difference]:
    if observed is None:
        yield Difference(
            DriftProperty.GROUP_IS_TEAM,
            wanted=True,
            observed=False,
            steps=(Step.CREATE_TEAM, Step.CREATE_CHANNELS) if wanted else (Step.CREATE_TEAM,),
            digest=digest_of(json_of(wanted)),
        )
        return
    if missing := [channel for channel in wanted if channel not in observed]:
        asked = json_of(wanted)
        shown: list[Json] = [*missing]
        step = Step.CREATE_CHANNELS
        yield _difference(DriftProperty.GROUP_CHANNELS, wanted=shown, observed=[], step=step, asked=asked)


def _difference(
    drift_property: DriftProperty, *, wanted: Json, observed: Json, step: Step | None = None, asked: Json = None
) -> Difference:
    digest = digest_of(wanted if asked is None else asked)
    return Difference(drift_property, wanted, observed, () if step is None else (step,), digest)


def digest_of(wanted: Json) -> str:
    """Names what is wanted: the same for the same."""
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


def json_of(value: object) -> Json:
    """A value as a finding keeps it. Raises TypeError for what no property holds."""
    match value:
        case None | bool() | int() | str():
            return value
        case tuple() | frozenset():
            return [json_of(each) for each in value]
        case _:
            return str(value)


def _kept(users: list[UserId]) -> Json:
    return [str(user) for user in users[:MOST_KEPT]]


def _comparable(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value


def _told(value: Json) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return f'"{value}"'
        case int() | float():
            return str(value)
        case list():
            return _listed([_told(each) for each in value])
        case dict():
            return _listed([f"{_told(each)} for {name}" for name, each in value.items()])
        case None:
            return "nothing"


def _listed(told: list[str]) -> str:
    rest = len(told) - MOST_TOLD
    if not told:
        return "nothing"
    return ", ".join(told[:MOST_TOLD]) + (f" and {rest} more" if rest > 0 else "")


def _place_of(observed: ObservedMailbox) -> Place:
    return observed.place or Place()


def _field(drift_property: DriftProperty, field: str) -> MailboxRow:
    """A field of the address book."""
    return MailboxRow(
        drift_property,
        lambda wanted: getattr(wanted.address_fields, field),
        lambda observed: getattr(observed.address_fields, field),
        Step.SET_ADDRESS_FIELDS,
    )


def _feature(drift_property: DriftProperty, name: str) -> MailboxRow:
    """A field of the room finder."""
    return MailboxRow(
        drift_property,
        lambda wanted: None if wanted.place is None else getattr(wanted.place, name),
        lambda observed: getattr(_place_of(observed), name),
        Step.SET_PLACE,
    )


def _equipment(drift_property: DriftProperty, name: str) -> MailboxRow:
    """What stands in a room."""
    return MailboxRow(
        drift_property,
        lambda wanted: None if wanted.place is None else getattr(wanted.place.equipment, name),
        lambda observed: getattr(_place_of(observed).equipment, name),
        Step.SET_PLACE,
    )


# Which field of the address book, of the room finder and of the room's equipment is which property.
ADDRESS_FIELDS: Mapping[str, DriftProperty] = {
    "street_address": DriftProperty.MAILBOX_STREET_ADDRESS,
    "office_location": DriftProperty.MAILBOX_OFFICE_LOCATION,
    "company_name": DriftProperty.MAILBOX_COMPANY_NAME,
    "postal_code": DriftProperty.MAILBOX_POSTAL_CODE,
    "city": DriftProperty.MAILBOX_CITY,
    "country": DriftProperty.MAILBOX_COUNTRY,
    "phone": DriftProperty.MAILBOX_PHONE,
    "department": DriftProperty.MAILBOX_DEPARTMENT,
    "business_phones": DriftProperty.MAILBOX_BUSINESS_PHONES,
    "notes": DriftProperty.MAILBOX_NOTES,
}
PLACE_FIELDS: Mapping[str, DriftProperty] = {
    "capacity": DriftProperty.MAILBOX_CAPACITY,
    "audio_device_name": DriftProperty.MAILBOX_AUDIO_DEVICE,
    "display_device_name": DriftProperty.MAILBOX_DISPLAY_DEVICE,
    "video_device_name": DriftProperty.MAILBOX_VIDEO_DEVICE,
    "is_wheel_chair_accessible": DriftProperty.MAILBOX_WHEEL_CHAIR,
    "tags": DriftProperty.MAILBOX_TAGS,
}
EQUIPMENT_FIELDS: Mapping[str, DriftProperty] = {
    "has_conference_phone": DriftProperty.MAILBOX_CONFERENCE_PHONE,
    "has_whiteboard": DriftProperty.MAILBOX_WHITEBOARD,
    "has_video_conferencing": DriftProperty.MAILBOX_VIDEO_CONFERENCING,
}

MAILBOX: tuple[MailboxRow, ...] = (
    MailboxRow(
        DriftProperty.MAILBOX_DISPLAY_NAME,
        lambda wanted: wanted.display_name,
        lambda observed: observed.display_name,
        None,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_ADDRESS,
        lambda wanted: wanted.mail.lower(),
        lambda observed: observed.mail.lower(),
        None,
    ),
    *[_field(each, name) for name, each in ADDRESS_FIELDS.items()],
    *[_feature(each, name) for name, each in PLACE_FIELDS.items()],
    *[_equipment(each, name) for name, each in EQUIPMENT_FIELDS.items()],
    MailboxRow(
        DriftProperty.MAILBOX_CAPACITY,
        lambda wanted: wanted.quota_megabytes,
        lambda observed: observed.quota_megabytes,
        Step.SET_QUOTA,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_CAPACITY,
        lambda wanted: wanted.capacity,
        lambda observed: observed.capacity,
        Step.SET_CAPACITY,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_BOOKING,
        lambda wanted: wanted.books_automatically or None,
        lambda observed: observed.books_automatically,
        Step.SET_BOOKING,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_AUTOMATIC_REPLY,
        lambda wanted: wanted.automatic_reply,
        lambda observed: observed.automatic_reply,
        Step.SET_AUTOMATIC_REPLY,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_HIDDEN,
        lambda wanted: wanted.is_hidden,
        lambda observed: observed.is_hidden,
        Step.SET_VISIBILITY,
    ),
    MailboxRow(
        DriftProperty.MAILBOX_OWNERS,
        lambda wanted: wanted.owners,
        lambda observed: observed.owners,
        Step.SET_OWNERS,
    ),
)

RULES: tuple[RuleRow, ...] = (
    RuleRow(DriftProperty.ASSIGNMENT_ALLOWED, lambda rules: rules.allowed, Step.SET_GUEST_ACCESS),
    RuleRow(DriftProperty.ASSIGNMENT_ADDED_BY, lambda rules: rules.added_by, Step.SET_GUEST_ACCESS),
    RuleRow(
        DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS,
        lambda rules: tuple(sorted(map(normalised, rules.allowed_domains))),
        Step.SET_GUEST_DOMAINS,
        (),
    ),
    RuleRow(
        DriftProperty.ASSIGNMENT_BLOCKED_DOMAINS,
        lambda rules: tuple(sorted(map(normalised, rules.blocked_domains))),
        Step.SET_GUEST_DOMAINS,
        (),
    ),
)
