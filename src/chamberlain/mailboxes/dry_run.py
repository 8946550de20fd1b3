# SPDX-License-Identifier: Apache-2.0
"""Dry runs of mailboxes: the mailbox, steps, conflicts and warnings."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chamberlain.core.errors import Fault, LimitReached
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import TemplateSource, plan_mailbox
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.models import wanted_mailbox
from chamberlain.mailboxes.rules import (
    MailboxNames,
    MailboxSituation,
    address_taken,
    has_substitute,
    name_taken,
    warnings_of,
)
from chamberlain.requests.approvals import LevelDryRun, levels_of, missing_approvers, named
from chamberlain.templates.models import TemplateHead
from chamberlain.tenants.models import limit_conflicts


@dataclass(frozen=True, slots=True)
class MailboxDryRun:
    """A mailbox as it would be requested."""

    template: TemplateHead
    template_source: TemplateSource
    name: str
    display_name: str
    address: str
    owners: tuple[NamedPerson, ...]
    approvals: tuple[LevelDryRun, ...]
    steps: tuple[Step, ...]
    conflicts: tuple[Fault, ...]
    warnings: tuple[Reason, ...]


def plan_dry_run(
    situation: MailboxSituation,
    names: MailboxNames,
    *,
    answer: PeopleAnswer | None,
    approvers: PeopleAnswer | None,
    reserved_addresses: AbstractSet[str],
    is_name_reserved: bool,
    full_limit: LimitReached | None = None,
) -> MailboxDryRun:
    """Plan a mailbox without writing.

    `answer` and `approvers` are None if the directory did not answer. Reserved names belong to other requests.
    `full_limit` is the exhausted limit of the tenant.
    """
    wanted = wanted_mailbox(
        situation.sent,
        situation.template,
        request_id=situation.request_id,
        mail=names.mail or "",
        prefix=situation.tenant.extension_prefix,
    )
    taken = reserved_addresses if answer is None else reserved_addresses | answer.taken_addresses
    rule = situation.template.approval
    levels = levels_of(rule, approvers, requester=situation.requester)
    return MailboxDryRun(
        template=situation.template.head,
        template_source=situation.source,
        name=wanted.name,
        display_name=wanted.display_name,
        address=wanted.mail,
        owners=tuple([named(user, answer) for user in wanted.owners]),
        approvals=levels,
        steps=plan_mailbox(wanted, people_checked=answer is not None),
        conflicts=(
            *_conflicts(situation, names, taken, reserved_addresses, is_name_reserved=is_name_reserved),
            *limit_conflicts(full_limit),
        ),
        warnings=tuple(_warnings(situation, levels, is_checked=answer is not None)),
    )


def _conflicts(
    situation: MailboxSituation,
    names: MailboxNames,
    taken: AbstractSet[str],
    reserved: AbstractSet[str],
    *,
    is_name_reserved: bool,
) -> Iterator[Fault]:
    if is_name_reserved:
        yield from name_taken(situation.order).faults
    # An address with drawn digits is unknown until they are drawn.
    is_drawn = situation.compiled.address.needs_counter or has_substitute(situation.order)
    if names.mail in taken and not is_drawn:
        yield from address_taken(names, taken, reserved=reserved).faults
    if names.alias in taken:
        yield from address_taken(names, taken - {names.mail or ""}, reserved=reserved).faults


def _warnings(situation: MailboxSituation, levels: tuple[LevelDryRun, ...], *, is_checked: bool) -> Iterator[Reason]:
    yield from warnings_of(situation)
    if situation.compiled.address.needs_counter:
        yield Reason.build("addressNumberDrawn")
    if has_substitute(situation.order):
        yield Reason.build("addressFromRequest")
    if not is_checked:
        yield Reason.build("peopleNotChecked")
    yield from missing_approvers(levels)
