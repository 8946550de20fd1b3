# SPDX-License-Identifier: Apache-2.0
"""Validate groups and teams by the capabilities of the tenant's directory."""

from collections.abc import Iterator

from chamberlain.core.errors import Fault, Forbidden, first_faults
from chamberlain.core.ids import UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.capabilities import Ability, Capabilities
from chamberlain.directory.models import PeopleAnswer, Person
from chamberlain.directory.properties import DriftProperty
from chamberlain.groups.models import GroupNames, GroupOrder
from chamberlain.groups.rules import faults_in_directory
from chamberlain.templates.capabilities import (
    display_name_faults,
    guest_template_faults,
    label_faults,
    not_held,
    not_held_of_template,
)
from chamberlain.templates.models import GroupTemplate, GuestTemplate, TemplateKind


def capability_faults(
    order: GroupOrder,
    template: GroupTemplate,
    names: GroupNames,
    capabilities: Capabilities,
    *,
    guests: GuestTemplate | None,
) -> tuple[Fault, ...]:
    """Validate an order and its template by what the directory can do.

    `guests` is the guest template that the group gets, if any.
    """
    if not capabilities.restricts_requests:
        return ()
    return first_faults(
        display_name_faults(names.display_name, capabilities),
        _label_faults(order, template, capabilities),
        _team_faults(template, capabilities),
        _description_faults(order, capabilities),
        () if guests is None else guest_template_faults(guests, capabilities),
    )


def people_and_label_faults(
    order: GroupOrder, template: GroupTemplate, answer: PeopleAnswer, capabilities: Capabilities, *, caller: UserId
) -> tuple[Fault, ...]:
    """Validate users and label by the answer of the directory.

    A directory without labels knows none, which `capability_faults` reports.
    """
    found = faults_in_directory(order, template, answer, caller=caller)
    return found if capabilities.can(Ability.LABELS) else tuple([each for each in found if each.code != "labelUnknown"])


def team_license_missing(
    template: GroupTemplate, caller: Person | None, capabilities: Capabilities
) -> Forbidden | None:
    """Return the error if the caller has no license for teams.

    An unknown caller (None) has none. Some directories do not report licenses.
    """
    if template.head.kind is not TemplateKind.TEAM or not capabilities.can(Ability.LICENSE_CHECK):
        return None
    if caller is not None and caller.has_team_license:
        return None
    detail = "A team needs a license for team collaboration, and you have none. Ask an administrator for one."
    return Forbidden("teamLicenseRequired", detail)


def capability_warnings(template: GroupTemplate, capabilities: Capabilities) -> tuple[Reason, ...]:
    """Return the warnings about checks that the directory cannot make."""
    if template.head.kind is not TemplateKind.TEAM or capabilities.can(Ability.LICENSE_CHECK):
        return ()
    return (Reason.build("teamLicenseNotChecked"),)


def _label_faults(order: GroupOrder, template: GroupTemplate, capabilities: Capabilities) -> Iterator[Fault]:
    if order.label_id is not None:
        yield from label_faults(order.label_id, capabilities)
    elif template.label_id is not None and not capabilities.can(Ability.LABELS):
        sentence = (
            'The template "{template}" sets a label, and this tenant\'s directory has no labels. Ask an administrator '
            "to change the template, or choose another one."
        )
        yield Fault.build("/templateId", "labelsNotSupported", sentence, template=template.head.name)


def _team_faults(template: GroupTemplate, capabilities: Capabilities) -> Iterator[Fault]:
    if template.head.kind is not TemplateKind.TEAM:
        return
    if not capabilities.can(Ability.TEAMS):
        sentence = (
            'The template "{template}" makes teams, and this tenant\'s directory has no teams. Choose a template of '
            "kind group."
        )
        yield Fault.build("/templateId", "teamsNotSupported", sentence, template=template.head.name)
    elif template.channels and DriftProperty.GROUP_CHANNELS in capabilities.unheld:
        yield not_held_of_template("channels", template.head.name)


def _description_faults(order: GroupOrder, capabilities: Capabilities) -> Iterator[Fault]:
    if order.description and DriftProperty.GROUP_DESCRIPTION in capabilities.unheld:
        yield not_held("/description", "description")
