# SPDX-License-Identifier: Apache-2.0
"""Dry runs of groups and teams."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chamberlain.core.errors import Fault, LimitReached
from chamberlain.core.reasons import Reason
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.groups.capabilities import capability_warnings
from chamberlain.groups.models import GroupNames, Numbers
from chamberlain.groups.rules import Situation, address_taken, has_substitute, names_of, plan_group, wanted_in
from chamberlain.requests.approvals import LevelDryRun, levels_of, missing_approvers, named
from chamberlain.templates.models import TemplateHead
from chamberlain.templates.rules import NINES
from chamberlain.tenants.models import limit_conflicts


@dataclass(frozen=True, slots=True)
class GroupDryRun:
    """The result of a dry run.

    `member_count` is None if the members follow a rule.
    """

    template: TemplateHead
    display_name: str
    mail_nickname: str
    address: str
    member_ship_type: MemberShipType
    owners: tuple[NamedPerson, ...]
    member_count: int | None
    approvals: tuple[LevelDryRun, ...]
    steps: tuple[Step, ...]
    conflicts: tuple[Fault, ...]
    warnings: tuple[Reason, ...]


def plan_dry_run(
    situation: Situation,
    names: GroupNames,
    *,
    properties: Mapping[str, str],
    answer: PeopleAnswer | None,
    approvers: PeopleAnswer | None,
    reserved: AbstractSet[str],
    full_limit: LimitReached | None = None,
) -> GroupDryRun:
    """Plan a group or team without writing.

    `properties` are those in the names. `answer` and `approvers` are None if the directory did not answer. `reserved`
    addresses belong to other requests. `full_limit` is the exhausted limit of the tenant.
    """
    taken = reserved if answer is None else reserved | answer.taken_addresses
    if has_substitute(situation.order, situation.template, names) or has_number(situation, names, properties):
        # An address with drawn digits is unknown until they are drawn.
        taken = frozenset()
    # The second address has digits of the request id, so it is never taken.
    free = names.addresses[1:] if names.addresses[0].mail in taken else names.addresses
    wanted = wanted_in(situation, GroupNames(names.display_name, free or names.addresses))
    levels = levels_of(situation.template.approval, approvers, requester=situation.user)
    return GroupDryRun(
        template=situation.template.head,
        display_name=names.display_name,
        mail_nickname=wanted.mail_nickname,
        address=wanted.mail,
        member_ship_type=wanted.member_ship_type,
        owners=tuple([named(user, answer) for user in wanted.owners]),
        member_count=None if wanted.member_ship_type is MemberShipType.DYNAMIC else len(wanted.members),
        approvals=levels,
        steps=plan_group(wanted, people_checked=answer is not None),
        conflicts=(*(() if free else (_conflict(names, reserved),)), *limit_conflicts(full_limit)),
        warnings=tuple(_warnings(situation, names, wanted, levels, is_checked=answer is not None)),
    )


def has_number(situation: Situation, names: GroupNames, properties: Mapping[str, str]) -> bool:
    """Return whether the address contains a drawn number.

    Truncation may cut it off a long name.
    """
    if not situation.compiled.needs_numbers:
        return False
    others = names_of(
        situation.order,
        situation.compiled,
        request_id=situation.request_id,
        domain=situation.tenant.default_domain,
        properties=properties,
        numbers=Numbers(NINES, NINES),
    )
    return others.addresses[0] != names.addresses[0]


def _conflict(names: GroupNames, reserved: AbstractSet[str]) -> Fault:
    (fault,) = address_taken(names, is_reserved=names.addresses[0].mail in reserved).faults
    return fault


def _warnings(
    situation: Situation,
    names: GroupNames,
    wanted: WantedGroup,
    levels: tuple[LevelDryRun, ...],
    *,
    is_checked: bool,
) -> Iterator[Reason]:
    if situation.compiled.needs_numbers:
        yield Reason.build("nameNumberDrawn")
    if has_substitute(situation.order, situation.template, names):
        yield Reason.build("addressFromRequest")
    if wanted.mail != names.addresses[0].mail:
        yield Reason.build("addressDigitsFollow", address=names.addresses[0].mail)
    yield from capability_warnings(situation.template, situation.capabilities)
    if not is_checked:
        yield Reason.build("peopleNotChecked")
    yield from missing_approvers(levels)
