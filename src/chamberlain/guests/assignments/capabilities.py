# SPDX-License-Identifier: Apache-2.0
"""Validate assignments by the capabilities of the tenant's directory."""

from collections.abc import Iterator

from chamberlain.core.errors import Fault
from chamberlain.directory.capabilities import Ability, Capabilities
from chamberlain.directory.subjects import SubjectType
from chamberlain.templates.capabilities import guest_template_faults
from chamberlain.templates.models import GuestTemplate


def capability_faults(
    subject_type: SubjectType, template: GuestTemplate | None, capabilities: Capabilities
) -> Iterator[Fault]:
    """Validate a change by what the directory can do.

    `template` is the newly assigned one, if any.
    """
    if subject_type is SubjectType.SITE and not capabilities.can(Ability.SITES):
        sentence = "This tenant's directory has no sites. Assign to the group of the site instead."
        yield Fault.build("", "sitesNotSupported", sentence)
    if template is not None:
        yield from guest_template_faults(template, capabilities)
