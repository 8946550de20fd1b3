"""Dry runs of mailboxes: the mailbox, steps, conflicts and warnings."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chamberlain.core.errors import Conflict, Fault
from chamberlain.directory.mailboxes import TemplateSource, plan_mailbox
from chamberlain.directory.models import NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.mailboxes.models import wanted_mailbox
from chamberlain.mailboxes.rules import MailboxNames, MailboxSituation, address_taken, name_taken, warnings_of
from chamberlain.requests.approvals import LevelDryRun, levels_of, missing_approvers, named
from chamberlain.templates.models import TemplateHead


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
    warnings: tuple[str, ...]


def plan_dry_run(
    situation: MailboxSituation,
    names: MailboxNames,
    *,
    answer: PeopleAnswer | None,
    approvers: PeopleAnswer | None,
    reserved_addresses: AbstractSet[str],
    is_name_reserved: bool,
) -> MailboxDryRun:
    """Plan a mailbox without writing.

    `answer` and `approvers` are None if the directory did not answer. Reserved names belong to other requests.
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
        conflicts=tuple(_conflicts(situation, names, taken, reserved_addresses, is_name_reserved=is_name_reserved)),
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
        yield _fault("/name", name_taken(situation.order))
    # An address with a number is unknown until the number is drawn.
    if names.mail in taken and not situation.compiled.address.needs_counter:
        yield _fault("/name", address_taken(names, taken, reserved=reserved))
    if names.alias in taken:
        yield _fault("/alias", address_taken(names, taken - {names.mail or ""}, reserved=reserved))


def _fault(pointer: str, conflict: Conflict) -> Fault:
    return Fault(pointer, conflict.code, conflict.detail)


def _warnings(situation: MailboxSituation, levels: tuple[LevelDryRun, ...], *, is_checked: bool) -> Iterator[str]:
    yield from warnings_of(situation)
    if situation.compiled.address.needs_counter:
        yield "The number in the address is drawn when the request is sent. Zeros replace it here."
    if not is_checked:
        yield "The directory does not answer at present. People were not checked; the request checks them first."
    yield from missing_approvers(levels)
