"""Custom fields: keys of a request's metadata that a template gives a meaning."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from chamberlain.core.constraints_doubles import doubles
from chamberlain.core.constraints_pointers import child
from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import Fault
from chamberlain.core.validation_fields import Name, name
from chamberlain.templates.models import CustomField, FieldType


class ChoiceShape(Shape, frozen=True, kw_only=True):
    """One choice: the value is sent and stored, the label is shown."""

    value: Annotated[str, name(1024)]
    label: Name


class CustomFieldShape(Shape, frozen=True, kw_only=True):
    """One field; `choices` belong to a field of type choice."""

    key: Annotated[str, name(128)]
    label: Name
    type: FieldType
    required: bool = False
    choices: Annotated[tuple[ChoiceShape, ...], Meta(max_length=200)] | None = None


CustomFields = Annotated[tuple[CustomFieldShape, ...], Meta(max_length=64)]


def custom_field_faults(fields: Sequence[CustomFieldShape], pointer: str) -> Iterator[Fault]:
    """What the single shapes cannot see: keys and values of a choice that are there twice, and choices where
    there can be none."""
    seen: set[str] = set()
    for place, field in enumerate(fields):
        here = child(pointer, place)
        if field.key in seen:
            detail = f'The key "{field.key}" is there twice. Give each field a key of its own.'
            yield Fault(child(here, "key"), "ruleInvalid", detail)
        seen.add(field.key)
        if field.type is FieldType.CHOICE and not field.choices:
            yield Fault(child(here, "choices"), "ruleInvalid", "A field of type choice needs choices.")
        values = [choice.value for choice in field.choices or ()]
        yield from doubles(values, child(here, "choices"), member="value")
        if field.type is not FieldType.CHOICE and field.choices:
            detail = f"A field of type {field.type} has no choices. Leave them out, or make it a choice."
            yield Fault(child(here, "choices"), "ruleInvalid", detail)


def to_custom_field(shape: CustomFieldShape) -> CustomField:
    """The rules' value of it, which knows no labels of choices."""
    return CustomField(
        key=shape.key,
        label=shape.label,
        type=shape.type,
        required=shape.required,
        choices=tuple(each.value for each in shape.choices or ()),
    )
