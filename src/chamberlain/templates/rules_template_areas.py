"""Areas: templates are administered, and offered, in two places, each with kinds and permissions of its own."""

from dataclasses import dataclass

from chamberlain.auth.permissions import Operation
from chamberlain.templates.models import GROUP_KINDS, TemplateKind
from chamberlain.templates.models_mailbox_templates import MAILBOX_KINDS


@dataclass(frozen=True, slots=True)
class TemplateArea:
    """Templates of these kinds, what it takes to administer them, those of them that somebody can ask for something
    with, and what it takes to be offered those."""

    kinds: frozenset[TemplateKind]
    administer: Operation
    offered_kinds: frozenset[TemplateKind]
    read: Operation


MAIL = TemplateArea(MAILBOX_KINDS, Operation.ADMINISTER_MAIL, MAILBOX_KINDS, Operation.READ_MAILBOX_TEMPLATES)
# Guest templates are assigned by administrators; nobody asks for anything with one.
COLLAB = TemplateArea(
    GROUP_KINDS | {TemplateKind.GUEST},
    Operation.ADMINISTER_COLLAB,
    GROUP_KINDS,
    Operation.READ_COLLAB_TEMPLATES,
)
