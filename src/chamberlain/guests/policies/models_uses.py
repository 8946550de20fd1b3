"""Uses: what guest templates and policies are assigned to or named by, which keeps them from being deleted."""

from chamberlain.core.errors import Conflict
from chamberlain.templates.models import TemplateHead


def require_unused(noun: str, *, is_assigned: bool, named_by: TemplateHead | None) -> None:
    """Raises Conflict for what is assigned to a group or site, or named by a template that gives it to what it makes;
    `noun` says what it is."""
    if is_assigned:
        detail = f"The {noun} is assigned to a group or site. Assign another there first, or make it inactive."
        raise Conflict("inUse", detail)
    if named_by is not None:
        detail = f'The template "{named_by.name}" names this {noun}. Take it out there first, or make it inactive.'
        raise Conflict("inUse", detail, conflicting_id=str(named_by.id))
