"""The names of a group by the naming rules of its template, and its possible addresses."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.core.errors import Conflict
from chamberlain.core.ids import RequestId
from chamberlain.core.values import value
from chamberlain.directory.models import MailAddress, PeopleAnswer
from chamberlain.groups.models import GroupOrder
from chamberlain.templates.models import CompiledGroupTemplate
from chamberlain.templates.naming import expand, nickname_candidates


@dataclass(frozen=True, slots=True)
class Numbers:
    """The drawn numbers of a template's naming rules, None if a rule has no counter."""

    display_name: int | None = None
    mail_nickname: int | None = None


@value(frozen=True, slots=True)
class GroupNames:
    """The display name of a group and its possible addresses, best first."""

    display_name: str
    addresses: tuple[MailAddress, ...]


NO_NUMBERS = Numbers()


def names_of(
    order: GroupOrder,
    template: CompiledGroupTemplate,
    *,
    request_id: RequestId | None,
    domain: str,
    properties: Mapping[str, str],
    numbers: Numbers = NO_NUMBERS,
) -> GroupNames:
    """Expand the naming rules of the template.

    `properties` are those of the caller that the rules need. Without a `request_id`, only the best address is returned.
    """
    given, metadata, by_rule = order.display_name, order.metadata or {}, None
    display_name = expand(template.display_name, given, metadata, properties, number=numbers.display_name)
    if template.mail_nickname is not None:
        by_rule = expand(template.mail_nickname, given, metadata, properties, number=numbers.mail_nickname)
    nicknames = nickname_candidates(display_name, by_rule=by_rule, request_id=request_id)
    return GroupNames(display_name, tuple([MailAddress(name, f"{name}@{domain}") for name in nicknames]))


def free_addresses(names: GroupNames, answer: PeopleAnswer) -> tuple[MailAddress, ...]:
    """Return the addresses that are free in the directory, best first."""
    taken = answer.taken_addresses
    return tuple([address for address in names.addresses if address.mail not in taken]) if taken else names.addresses


def address_taken(names: GroupNames, *, is_reserved: bool) -> Conflict:
    """Return the conflict if no address is free.

    The first one is reserved for a request, or an object in the directory has it.
    """
    mail = names.addresses[0].mail
    if is_reserved:
        return Conflict("addressTaken", f"The address {mail} is taken. Choose another display name.")
    holder = f"Something in the directory has the address {mail}, perhaps what a cancelled request has left there."
    return Conflict("addressTaken", f"{holder} Choose another display name, or have that removed there.")
