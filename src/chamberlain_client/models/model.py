"""What all models have in common."""

from msgspec import Struct


class Model(Struct, frozen=True, rename="camel"):
    """A value of the API: its names are snake_case here and camelCase on the wire; unknown members are ignored."""
