"""The names of a mailbox: comparison form, addresses, and conflicts."""

import unicodedata
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from chamberlain.core.errors import Conflict
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType
from chamberlain.templates.models import CompiledMailboxTemplate, MailboxTemplate
from chamberlain.templates.naming import expand, local_part
from chamberlain.tenants.models import Tenant


@value(frozen=True, slots=True)
class MailboxNames:
    """The unique values of a mailbox: comparison form, address and alias.

    `local_part` is None if the name has no usable character. `alias` is None unless it is a second address.
    """

    name_key: str
    local_part: str | None
    domain: str
    alias: str | None

    @property
    def mail(self) -> str | None:
        """Return the primary address."""
        return None if self.local_part is None else f"{self.local_part}@{self.domain}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return all addresses, the primary one first."""
        return tuple([address for address in (self.mail, self.alias) if address is not None])


def names_of(
    order: MailboxOrder,
    template: CompiledMailboxTemplate,
    *,
    domain: str,
    properties: Mapping[str, str],
    number: int | None = None,
) -> MailboxNames:
    """Return the names of a completed order.

    `properties` are those of the caller that the rule needs. `number` is the number that was drawn.
    """
    made = expand(
        template.address, given=order.name, metadata=order.metadata or {}, properties=properties, number=number
    )
    local = local_part(made)
    if made != order.name and local_part(order.name) is None:
        # All such names would get the text of the rule as their address and conflict with each other.
        local = None
    alias = alias_of(order, template.template.type, domain)
    return MailboxNames(
        name_key=comparison_form(order.name),
        local_part=local,
        domain=domain,
        # An alias that equals the address is no second address.
        alias=None if alias == f"{local}@{domain}" else alias,
    )


def alias_of(order: MailboxOrder, mailbox_type: MailboxType, domain: str) -> str | None:
    """Return the second address in lower case, if the type has one."""
    is_wanted = order.alias is not None and mailbox_type is MailboxType.SHARED
    return f"{order.alias}@{domain}".lower() if is_wanted else None


def domain_of(order: MailboxOrder, template: MailboxTemplate, tenant: Tenant) -> str:
    """Return the domain of the order, the template or the tenant."""
    return (order.domain or template.domain or tenant.default_domain).lower()


def comparison_form(name: str) -> str:
    """Return the form in which names are compared.

    Source: compatibility caseless matching, Unicode 3.13, D146.
    """
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFD", name).casefold()
    folded = unicodedata.normalize("NFKD", folded).casefold()
    return unicodedata.normalize("NFKC", folded)


def name_taken(order: MailboxOrder) -> Conflict:
    """Return the conflict for a name that another mailbox has."""
    return Conflict("nameTaken", f'There is a mailbox called "{order.name}" already. Choose another name.')


def address_taken(names: MailboxNames, taken: AbstractSet[str], *, reserved: AbstractSet[str]) -> Conflict:
    """Return the conflict for a taken address.

    Reserved addresses belong to requests, all others to objects in the directory.
    """
    if names.mail in taken or names.alias is None:
        address, cure = names.mail, "Choose another name or domain"
    else:
        address, cure = names.alias, "Choose another alias, or leave it out"
    if address is None or address in reserved:
        return Conflict("addressTaken", f"The address {address} is taken. {cure}.")
    holder = f"Something in the directory has the address {address}, perhaps what a cancelled request has left there."
    return Conflict("addressTaken", f"{holder} {cure}, or have that removed there.")
