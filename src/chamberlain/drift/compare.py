"""Drift: what the directory shows otherwise than it is wanted, property by property, compared by canonical ids.

What nobody ever wanted of us is never a difference: a property that was not asked for is as it may be.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chamberlain.core.ids import UserId
from chamberlain.core.values import Json
from chamberlain.directory.groups import MemberShipType, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import ObservedMailbox, PermissionLevel, WantedMailbox
from chamberlain.directory.properties import PROPERTIES, DriftProperty
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, WantedGuestRules
from chamberlain.drift.properties import MAILBOX, RULES

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
            f"{words[0].upper()}{words[1:]}: wanted is {self._told(self.wanted)}, and the directory shows "
            f"{self._told(self.observed)}."
        )

    def _told(self, value: Json) -> str:
        if self.name is DriftProperty.GROUP_MEMBER_SHIP_TYPE and isinstance(value, int):
            return f'"{MemberShipType(value).name.lower()}"'
        return _told(value)


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
    described = Step.SET_PROPERTIES
    yield from _plain(DriftProperty.GROUP_DISPLAY_NAME, wanted.display_name, observed.display_name, described)
    yield from _plain(DriftProperty.GROUP_MAIL, wanted.mail.lower(), observed.mail.lower())
    yield from _plain(DriftProperty.GROUP_DESCRIPTION, wanted.description or None, observed.description, described)
    if observed.member_ship_type is not None:
        # A group never begins to follow a rule, nor does it end doing so.
        types = wanted.member_ship_type, observed.member_ship_type
        step = None if MemberShipType.DYNAMIC in types else described
        yield from _plain(DriftProperty.GROUP_MEMBER_SHIP_TYPE, *types, step)
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
