"""Templates of mailboxes: what they hold, and what they add to an order."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType
from chamberlain.requests.models_approvals import ApprovalRule
from chamberlain.templates.models import Audience, CustomField, TemplateHead, TemplateKind
from chamberlain.templates.naming import NamingRule, parse_naming_rule

MAILBOX_KINDS = frozenset({TemplateKind.SHARED, TemplateKind.EQUIPMENT, TemplateKind.ROOM})


@dataclass(frozen=True, slots=True)
class MailboxTemplate:
    """A template of kind shared, equipment or room. The address rule makes the local part, see naming.py."""

    head: TemplateHead
    is_default: bool
    audience: Audience | None
    domain: str | None
    address_rule: str
    defaults: MailboxProperties
    custom_fields: tuple[CustomField, ...]
    approval: ApprovalRule | None

    @property
    def type(self) -> MailboxType:
        """What it makes."""
        return MailboxType(self.head.kind)


@dataclass(frozen=True, slots=True)
class CompiledMailboxTemplate:
    """A mailbox template made ready for use: what is the same for every request is worked out once."""

    template: MailboxTemplate
    address: NamingRule

    @property
    def needs_numbers(self) -> bool:
        """Whether the address has a number that must be drawn for each request."""
        return self.address.needs_counter

    @property
    def needs_properties(self) -> bool:
        """Whether the address cannot be made before the directory has told what it knows of the caller."""
        return self.address.needs_properties


def compile_mailbox_template(template: MailboxTemplate) -> CompiledMailboxTemplate:
    """Parse the rule of a template. Raises NamingRuleInvalid."""
    return CompiledMailboxTemplate(template, parse_naming_rule(template.address_rule))


def completed(order: MailboxOrder, template: MailboxTemplate) -> MailboxOrder:
    """The order with the template's defaults where it says nothing.

    What is sent replaces the default whole: permissions and metadata are not put together from two places, so that a
    caller can also send fewer of them.
    """
    if template.defaults == NO_DEFAULTS:
        return order
    return replace(order, **_missing(order, template.defaults))


NO_DEFAULTS = MailboxProperties()
_PROPERTIES = tuple(field.name for field in fields(MailboxProperties))


# Any: the properties are of many types, and each goes from a field to the field of the same name.
def _missing(order: MailboxOrder, defaults: MailboxProperties) -> Mapping[str, Any]:
    return {name: getattr(defaults, name) for name in _PROPERTIES if getattr(order, name) is None}
