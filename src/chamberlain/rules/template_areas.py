"""Areas: templates are administered, and offered, in two places, each with kinds and permissions of its own."""

from dataclasses import dataclass

from chamberlain.rules.mailbox_templates import MAILBOX_KINDS
from chamberlain.rules.permissions import Operation
from chamberlain.rules.templates import TemplateKind


@dataclass(frozen=True, slots=True)
class TemplateArea:
    """Templates of these kinds, what it takes to administer them, and what it takes to be offered them."""

    kinds: frozenset[TemplateKind]
    administer: Operation
    read: Operation


MAIL = TemplateArea(MAILBOX_KINDS, Operation.ADMINISTER_MAIL, Operation.READ_MAILBOX_TEMPLATES)
