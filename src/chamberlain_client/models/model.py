"""What all models have in common."""

from msgspec import Struct


class Model(Struct, frozen=True, rename="camel"):
    """A value of the API: its names are snake_case here and camelCase on the wire; unknown members are ignored."""


class Versioned(Model, frozen=True, kw_only=True):
    """Something that was read alone has an `etag`, which names its version; as an item of a list it has none.

    Given back as `if_match`, a change is made only to the version that was read. It is no part of what is sent.
    """

    etag: str | None = None
