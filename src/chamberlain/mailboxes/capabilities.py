# SPDX-License-Identifier: Apache-2.0
"""Validate mailboxes by the capabilities of the tenant's directory."""

from chamberlain.core.errors import Fault, first_faults
from chamberlain.directory.capabilities import Capabilities
from chamberlain.mailboxes.rules import MailboxSituation
from chamberlain.templates.capabilities import (
    display_name_faults,
    inherited_property_faults,
    mailbox_faults,
    mailbox_name_faults,
    property_faults,
)


def capability_faults(situation: MailboxSituation, capabilities: Capabilities) -> tuple[Fault, ...]:
    """Validate an order and its defaults by what the directory can do."""
    if not capabilities.restricts_requests:
        return ()
    sent, order, template = situation.sent, situation.order, situation.head.name
    return first_faults(
        mailbox_faults(capabilities),
        display_name_faults(order.display_name, capabilities),
        mailbox_name_faults(order.name, capabilities),
        property_faults(sent, situation.type, capabilities),
        inherited_property_faults(order, sent, situation.type, capabilities, template=template),
    )
