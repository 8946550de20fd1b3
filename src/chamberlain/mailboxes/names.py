"""The names of a mailbox: what it is compared by, and the addresses that it gets."""

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
    """What must be the mailbox' own in its tenant: its name, in the form in which names are compared, its address and
    its alias. `local_part` is None when nothing is left of the name, `alias` when there is none of its own."""

    name_key: str
    local_part: str | None
    domain: str
    alias: str | None

    @property
    def mail(self) -> str | None:
        """The address that it sends from."""
        return None if self.local_part is None else f"{self.local_part}@{self.domain}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """All of its addresses, the one that it sends from first."""
        return tuple([address for address in (self.mail, self.alias) if address is not None])


def names_of(
    order: MailboxOrder,
    template: CompiledMailboxTemplate,
    *,
    domain: str,
    properties: Mapping[str, str],
    number: int | None = None,
) -> MailboxNames:
    """The names of a completed order. `properties` are the caller's, as far as the rule needs any, and `number` is the
    one that was drawn, if one was."""
    made = expand(
        template.address, given=order.name, metadata=order.metadata or {}, properties=properties, number=number
    )
    local = local_part(made)
    if made != order.name and local_part(order.name) is None:
        # The text of the rule alone would be the address of every such name, and the second of them would be refused.
        local = None
    alias = alias_of(order, template.template.type, domain)
    return MailboxNames(
        name_key=comparison_form(order.name),
        local_part=local,
        domain=domain,
        # An alias that spells the address itself adds nothing.
        alias=None if alias == f"{local}@{domain}" else alias,
    )


def alias_of(order: MailboxOrder, mailbox_type: MailboxType, domain: str) -> str | None:
    """The second address, where the type has one: addresses are in lower case, as the tenant's others are."""
    is_wanted = order.alias is not None and mailbox_type is MailboxType.SHARED
    return f"{order.alias}@{domain}".lower() if is_wanted else None


def domain_of(order: MailboxOrder, template: MailboxTemplate, tenant: Tenant) -> str:
    """Where the address of a completed order is made: where it says, else where the template says, else where the
    tenant's addresses are."""
    return (order.domain or template.domain or tenant.default_domain).lower()


def comparison_form(name: str) -> str:
    """The form in which names are the same (compatibility caseless matching: Unicode, 3.13, D146)."""
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFD", name).casefold()
    folded = unicodedata.normalize("NFKD", folded).casefold()
    return unicodedata.normalize("NFKC", folded)


def name_taken(order: MailboxOrder) -> Conflict:
    """What to say when another mailbox has this name."""
    return Conflict("nameTaken", f'There is a mailbox called "{order.name}" already. Choose another name.')


def address_taken(names: MailboxNames, taken: AbstractSet[str], *, reserved: AbstractSet[str]) -> Conflict:
    """What to say when somebody has one of these addresses: those that are reserved a request, all others something in
    the directory."""
    if names.mail in taken or names.alias is None:
        address, cure = names.mail, "Choose another name or domain"
    else:
        address, cure = names.alias, "Choose another alias, or leave it out"
    if address is None or address in reserved:
        return Conflict("addressTaken", f"The address {address} is taken. {cure}.")
    holder = f"Something in the directory has the address {address}, perhaps what a cancelled request has left there."
    return Conflict("addressTaken", f"{holder} {cure}, or have that removed there.")
