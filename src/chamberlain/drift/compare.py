# SPDX-License-Identifier: Apache-2.0
"""Compare the observed properties of the directory with the desired state.

People are compared by their canonical ids. A property without a desired value never drifts.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from chamberlain.core.ids import UserId
from chamberlain.core.values import Json
from chamberlain.directory.groups import MemberShipType, ObservedGroup, WantedGroup, is_done
from chamberlain.directory.mailboxes import ObservedMailbox, PermissionLevel, WantedMailbox
from chamberlain.directory.properties import PROPERTIES, DriftProperty, Treatment, treatment_of
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import ObservedSubject, WantedGuestRules
from chamberlain.drift.models import Managed, ManagedAssignment, ManagedGroup, ManagedMailbox, Observed
from chamberlain.drift.properties import MAILBOX, RULES
from chamberlain.tenants.models import Tenant

# Limits of a list in a sentence and in a finding. Our choice: a group has up to 10,000 members.
MAX_SHOWN = 3
MAX_STORED = 100


def digest(wanted: Json) -> str:
    """Digest a desired value. Equal values have equal digests."""
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """A property that drifted, and the steps that repair it.

    `wanted` shows only the drifted part of a list. `digest` covers the whole desired value.
    """

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
            f"{words[0].upper()}{words[1:]}: wanted is {self._format(self.wanted)}, and the directory shows "
            f"{self._format(self.observed)}."
        )

    def _format(self, value: Json) -> str:
        if self.name is DriftProperty.GROUP_MEMBER_SHIP_TYPE and isinstance(value, int):
            return f'"{MemberShipType(value).name.lower()}"'
        return _format(value)


EXISTENCES = frozenset({DriftProperty.MAILBOX_EXISTS, DriftProperty.GROUP_EXISTS})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A managed object, its observation and the drift that is not ignored."""

    managed: Managed
    observed: Observed | None
    differences: tuple[Difference, ...]

    @property
    def id(self) -> UUID:
        """The mailbox, group or site."""
        return self.managed.subject.id


# A managed object and the differences to repair.
PlannedRepair = tuple[Comparison, Sequence[Difference]]


def compare(tenant: Tenant, managed: Managed, observed: Observed | None) -> Comparison:
    """Compare an object with its observation.

    The tenant's settings say which properties are ignored.
    """
    if isinstance(managed, ManagedGroup) and isinstance(observed, ObservedGroup):
        managed = managed.without_removed(observed)
    differences = [
        each
        for each in _differences(managed, observed)
        if treatment_of(each.name, tenant.repair_properties) is not Treatment.IGNORED
    ]
    return Comparison(managed, observed, tuple(differences))


def mailbox_differences(
    wanted: WantedMailbox, observed: ObservedMailbox | None, *, replies_freely: bool
) -> Iterator[Difference]:
    """List the drift of a mailbox.

    With `replies_freely` its users may set another automatic reply.
    """
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
    """List the drift of a group or team.

    Members of a dynamic group follow its rule and are not compared.
    """
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
    if not is_done(Step.SET_LABEL, wanted, observed):
        yield from _plain(DriftProperty.GROUP_LABEL, wanted.label_id, observed.label_id, Step.SET_LABEL)
    yield from _missing(DriftProperty.GROUP_OWNERS, wanted.owners, observed.owners, Step.ADD_OWNERS)
    yield from _further(DriftProperty.GROUP_ADDITIONAL_OWNERS, wanted.owners, observed.owners)
    if wanted.member_ship_type is not MemberShipType.DYNAMIC:
        yield from _missing(DriftProperty.GROUP_MEMBERS, wanted.members, observed.members, Step.ADD_MEMBERS)
        yield from _further(DriftProperty.GROUP_ADDITIONAL_MEMBERS, wanted.members, observed.members)
    if wanted.channels is not None:
        yield from _team_differences(wanted.channels, observed.channels)


def assignment_differences(wanted: WantedGuestRules, observed: ObservedSubject) -> Iterator[Difference]:
    """List the drift of an assignment.

    Without a guest template, the settings for guests are not compared.
    """
    template, policy = wanted.template_id, wanted.policy_id
    yield from _exact(DriftProperty.ASSIGNMENT_TEMPLATE, template, observed.template_id, Step.MARK_ASSIGNMENT)
    yield from _exact(DriftProperty.ASSIGNMENT_POLICY, policy, observed.policy_id, Step.MARK_ASSIGNMENT)
    if wanted.rules is None:
        return
    for row in RULES:
        if observed.rules is None:
            yield from _exact(row.name, row.value(wanted.rules), row.without, row.step)
        elif (shown := row.value(observed.rules)) is not None:
            yield from _exact(row.name, row.value(wanted.rules), shown, row.step)
    site, step = observed.site, Step.SET_SHARING_CAPABILITY
    if site is not None:
        sharing = wanted.rules.sharing or site.default_sharing
        yield from _exact(DriftProperty.ASSIGNMENT_SHARING, sharing, site.sharing, step)


def wrongly_mapped(wanted: WantedMailbox, observed: ObservedMailbox) -> tuple[UserId, ...]:
    """List users with the desired full access but the wrong automatic mapping.

    There are none if the directory does not report the mapping.
    """
    full, mapped = PermissionLevel.FULL_ACCESS, observed.auto_mapped
    if mapped is None:
        return ()
    return tuple(
        [
            user
            for user in sorted(wanted.permissions)
            if wanted.permissions[user] is full
            and observed.permissions.get(user) is full
            and (user in mapped) is not wanted.auto_mapping
        ]
    )


def others_permitted(wanted: WantedMailbox, observed: ObservedMailbox) -> tuple[UserId, ...]:
    """List users whose permission is not part of the desired state."""
    return tuple(sorted(observed.permissions.keys() - wanted.permissions.keys() - wanted.revoked))


def to_json(value: object) -> Json:
    """Encode a property value for a finding.

    Raises TypeError for a type that no property has.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case tuple() | frozenset():
            return [to_json(each) for each in value]
        case _:
            return str(value)


def missing_people(comparison: Comparison) -> frozenset[UserId]:
    """List the people whom a mailbox or group lacks."""
    names = {each.name for each in comparison.differences}
    match comparison.managed, comparison.observed:
        case ManagedMailbox(wanted=mailbox), ObservedMailbox() as shown_mailbox:
            permitted = mailbox.permissions.keys() if DriftProperty.MAILBOX_PERMISSIONS in names else ()
            owners = mailbox.owners if DriftProperty.MAILBOX_OWNERS in names else ()
            missing = frozenset(owners) - frozenset(shown_mailbox.owners)
            return missing | (frozenset(permitted) - shown_mailbox.permissions.keys())
        case ManagedGroup(wanted=group), ObservedGroup() as shown_group:
            owners = group.owners if DriftProperty.GROUP_OWNERS in names else ()
            members = group.members if DriftProperty.GROUP_MEMBERS in names else ()
            return (frozenset(owners) - shown_group.owners) | (frozenset(members) - shown_group.members)
        case _:
            return frozenset()


def compare_without(tenant: Tenant, comparison: Comparison, gone: AbstractSet[UserId]) -> Comparison:
    """Compare again without people who left the directory."""
    left = missing_people(comparison) & gone
    match comparison.managed:
        case ManagedMailbox() | ManagedGroup() if left:
            return compare(tenant, comparison.managed.without(left), comparison.observed)
        case _:
            return comparison


def _format(value: Json) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return f'"{value}"'
        case int() | float():
            return str(value)
        case list():
            return _format_list([_format(each) for each in value])
        case dict():
            return _format_list([f"{_format(each)} for {name}" for name, each in value.items()])
        case None:
            return "nothing"


def _difference(
    drift_property: DriftProperty, *, wanted: Json, observed: Json, step: Step | None = None, desired: Json = None
) -> Difference:
    steps = () if step is None else (step,)
    return Difference(drift_property, wanted, observed, steps, digest(wanted if desired is None else desired))


def _plain(
    drift_property: DriftProperty, wanted: object, observed: object, step: Step | None = None
) -> Iterator[Difference]:
    """Compare a value if one is desired. Lists are unordered."""
    if wanted is not None and wanted != ():
        yield from _exact(drift_property, wanted, observed, step)


def _missing_aliases(wanted: WantedMailbox, observed: ObservedMailbox) -> Iterator[Difference]:
    there = {alias.lower() for alias in observed.aliases}
    missing = tuple([alias for alias in wanted.aliases if alias.lower() not in there])
    if missing:
        shown, step = to_json(observed.aliases), Step.SET_ALIASES
        yield _difference(DriftProperty.MAILBOX_ALIAS, wanted=to_json(missing), observed=shown, step=step)


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
            desired={str(user): levels[user] for user in levels},
        )
    if mapped := wrongly_mapped(wanted, observed):
        yield _difference(
            DriftProperty.MAILBOX_AUTO_MAPPING,
            wanted=dict.fromkeys(map(str, mapped), wanted.auto_mapping),
            observed=dict.fromkeys(map(str, mapped), not wanted.auto_mapping),
            step=Step.SET_PERMISSIONS,
            desired=wanted.auto_mapping,
        )
    further: dict[str, Json] = {str(user): observed.permissions[user] for user in others_permitted(wanted, observed)}
    if further:
        step = Step.SET_PERMISSIONS
        yield _difference(DriftProperty.MAILBOX_ADDITIONAL_PERMISSIONS, wanted={}, observed=further, step=step)


def _missing(
    drift_property: DriftProperty, wanted: Iterable[UserId], observed: frozenset[UserId], step: Step
) -> Iterator[Difference]:
    missing = sorted(frozenset(wanted) - observed)
    if missing:
        desired = to_json(tuple(sorted(wanted)))
        yield _difference(drift_property, wanted=_stored(missing), observed=[], step=step, desired=desired)


def _further(
    drift_property: DriftProperty, wanted: Iterable[UserId], observed: frozenset[UserId]
) -> Iterator[Difference]:
    further = sorted(observed - frozenset(wanted))
    if further:
        yield _difference(drift_property, wanted=[], observed=_stored(further))


def _team_differences(wanted: tuple[str, ...], observed: tuple[str, ...] | None) -> Iterator[Difference]:
    if observed is None:
        yield Difference(
            DriftProperty.GROUP_IS_TEAM,
            wanted=True,
            observed=False,
            steps=(Step.CREATE_TEAM, Step.CREATE_CHANNELS) if wanted else (Step.CREATE_TEAM,),
            digest=digest(to_json(wanted)),
        )
        return
    if missing := [channel for channel in wanted if channel not in observed]:
        desired = to_json(wanted)
        shown: list[Json] = [*missing]
        step = Step.CREATE_CHANNELS
        yield _difference(DriftProperty.GROUP_CHANNELS, wanted=shown, observed=[], step=step, desired=desired)


def _exact(
    drift_property: DriftProperty, wanted: object, observed: object, step: Step | None = None
) -> Iterator[Difference]:
    """Compare a value for which none is a desired state too."""
    if _comparable(wanted) != _comparable(observed):
        yield _difference(drift_property, wanted=to_json(wanted), observed=to_json(observed), step=step)


def _differences(managed: Managed, observed: Observed | None) -> Iterator[Difference]:
    match managed, observed:
        case ManagedMailbox(), ObservedMailbox() | None:
            yield from mailbox_differences(managed.wanted, observed, replies_freely=managed.replies_freely)
        case ManagedGroup(), ObservedGroup() | None:
            yield from group_differences(managed.wanted, observed)
        case ManagedAssignment(), ObservedSubject():
            yield from assignment_differences(managed.assigned.wanted, observed)
        case _:
            # Discovery reports groups that are gone, together with their assignments.
            return


def _format_list(texts: list[str]) -> str:
    rest = len(texts) - MAX_SHOWN
    if not texts:
        return "nothing"
    return ", ".join(texts[:MAX_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _stored(users: list[UserId]) -> Json:
    return [str(user) for user in users[:MAX_STORED]]


def _comparable(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value
