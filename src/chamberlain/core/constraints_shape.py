"""What all shapes have in common."""

from msgspec import Struct


class Shape(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One JSON object: camelCase outside, snake_case inside, and a misspelt property is refused."""
