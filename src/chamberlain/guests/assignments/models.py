# SPDX-License-Identifier: Apache-2.0
"""Assignments of guest templates and policies, and changes of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from chamberlain.core.errors import Fault
from chamberlain.guests.models import Assignment, to_assignment
from chamberlain.guests.policies.models import PolicyHead, policy_fault
from chamberlain.templates.models import TemplateHead, TemplateKind
from chamberlain.templates.rules import template_fault

# Clears the field that it is sent for.
ALL_ZERO = UUID(int=0)
GUEST_KINDS = frozenset({TemplateKind.GUEST})


@dataclass(frozen=True, slots=True)
class Keep:
    """The field was not sent and stays as it is."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Afterwards there is none."""


@dataclass(frozen=True, slots=True)
class Assign:
    """Afterwards it is this one."""

    id: UUID


FieldChange: TypeAlias = Keep | Clear | Assign


@dataclass(frozen=True, slots=True)
class AssignmentOrder:
    """A requested change of an assignment."""

    template: FieldChange
    policy: FieldChange

    @property
    def is_change(self) -> bool:
        """Return whether the body has a field."""
        return (self.template, self.policy) != (Keep(), Keep())


def to_field_change(sent: UUID | None) -> FieldChange:
    """Convert a field. None means that it was not sent."""
    if sent is None:
        return Keep()
    return Clear() if sent == ALL_ZERO else Assign(sent)


def assignment_after(before: Assignment, order: AssignmentOrder) -> Assignment:
    """Return the assignment after a change."""
    return to_assignment(_after(before.template_id, order.template), _after(before.policy_id, order.policy))


def assignment_faults(
    before: Assignment, after: Assignment, *, template: TemplateHead | None, policy: PolicyHead | None
) -> Iterator[Fault]:
    """Validate a new assignment.

    A head of None means that it does not exist. Current assignments are not validated again.
    """
    if after.template_id not in (None, before.template_id) and (fault := template_fault(template, GUEST_KINDS)):
        yield fault
    if after.policy_id not in (None, before.policy_id) and (fault := policy_fault(policy)):
        yield fault


def _after(before: UUID | None, wish: FieldChange) -> UUID | None:
    match wish:
        case Keep():
            return before
        case Clear():
            return None
        case Assign(id=assigned):
            return assigned
