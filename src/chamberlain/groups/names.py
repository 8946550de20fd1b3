"""The names of a group: what its template makes of the name that was given, and which addresses it may get."""

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
    """The next numbers of a template's counters, one for each of its rules; None where none is drawn."""

    display_name: int | None = None
    mail_nickname: int | None = None


@value(frozen=True, slots=True)
class GroupNames:
    """The display name that a group gets, and the addresses that it may get, best first."""

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
    """The names that the template's rules make. `properties` are the caller's, as far as the rules need any. Without a
    `request_id` the best address alone is made."""
    given, metadata, by_rule = order.display_name, order.metadata or {}, None
    display_name = expand(template.display_name, given, metadata, properties, number=numbers.display_name)
    if template.mail_nickname is not None:
        by_rule = expand(template.mail_nickname, given, metadata, properties, number=numbers.mail_nickname)
    nicknames = nickname_candidates(display_name, by_rule=by_rule, request_id=request_id)
    return GroupNames(display_name, tuple([MailAddress(name, f"{name}@{domain}") for name in nicknames]))


def free_addresses(names: GroupNames, answer: PeopleAnswer) -> tuple[MailAddress, ...]:
    """The addresses that nobody in the directory has, best first."""
    taken = answer.taken_addresses
    return tuple([address for address in names.addresses if address.mail not in taken]) if taken else names.addresses


def address_taken(names: GroupNames, *, is_reserved: bool) -> Conflict:
    """What to say when none of these addresses is free: the first is reserved for a request, or else something that is
    no request's has it in the directory."""
    mail = names.addresses[0].mail
    if is_reserved:
        return Conflict("addressTaken", f"The address {mail} is taken. Choose another display name.")
    holder = f"Something in the directory has the address {mail}, perhaps what a cancelled request has left there."
    return Conflict("addressTaken", f"{holder} Choose another display name, or have that removed there.")
